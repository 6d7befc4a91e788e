"""Context for a coding agent, before a prompt, before a tool and when a session begins.

    >>> from foreword import ContextEngine
    >>> from foreword.coding import InjectionPipeline, TokenBudget
    >>> engine = ContextEngine()
    >>> _ = engine.remember("We deploy on Thursdays only.", "shop", type="decision")
    >>> pipeline = InjectionPipeline(engine)
    >>> result = pipeline.generate_context(
    ...     "Which day do we deploy?", "session-1", TokenBudget.with_total(600), workspace="shop")
    >>> "We deploy on Thursdays only." in result.formatted_context
    True
    >>> again = pipeline.generate_context("Which day do we deploy?", "session-1", workspace="shop")
    >>> again.formatted_context     # the session's context holds it already
    ''
    >>> engine.close()

`InjectionPipeline.generate_context` gives an `InjectionResult`; `generate_brief_context` gives one line. Each
search result becomes an `InjectionCandidate` of an `InjectionCategory`; `PriorityRanker` orders candidates by
relevance, `RecencyFactor` and `DiversityBonus`; `TemporalEnrichmentProvider` gives them badges; a
`TokenBudget` divides the tokens; `ContextFormatter` words them. `SessionContextProvider` summarises sessions.
"""

from foreword.compose.budget import InjectionCandidate, InjectionCategory, TokenBudget
from foreword.compose.injection import ContextFormatter, TemporalEnrichmentProvider
from foreword.recall.priority import DiversityBonus, PriorityRanker, RecencyFactor
from foreword.recipes.coding.injection import InjectionPipeline, InjectionResult
from foreword.recipes.coding.session_context import SessionContextProvider

__all__ = [
    "ContextFormatter",
    "DiversityBonus",
    "InjectionCandidate",
    "InjectionCategory",
    "InjectionPipeline",
    "InjectionResult",
    "PriorityRanker",
    "RecencyFactor",
    "SessionContextProvider",
    "TemporalEnrichmentProvider",
    "TokenBudget",
]
