"""The predicates of a conversation in MeTTa, over the same functions that Python calls.

    metta = MeTTa()
    register(metta, engine, session)
    metta.run('!(inject-context "When can I pick up my cake?" &state &knowledge 2048)')

    python -m foreword.edges.metta examples/prompt.metta

What each predicate does is in `predicates`, how it is registered with MeTTa in `grounding`.
"""

from __future__ import annotations

from foreword.edges.metta.grounding import register

__all__ = ["register"]
