"""Try: type a prompt into the page and see what an agent would get; nothing of it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.compose.budget import BRIEF_BUDGET, TokenBudget
from foreword.edges.view.markup import Markup, el, join
from foreword.edges.view.pieces import nothing_to_show_note, page_heading
from foreword.edges.view.receipts import (
    context_as_sent_section,
    full_receipt_markup,
    load_receipt_stories,
    times_section,
)
from foreword.options import ContextOptions
from foreword.pipeline import FLOOR
from foreword.recipes.coding.injection import InjectionPipeline

if TYPE_CHECKING:
    from foreword.edges.view.visit import PageVisit
    from foreword.types import Receipt

_RECIPES = {
    "coding": "as a coding agent gets it",
    "chat": "for a chat",
    "detailed": "with types and dates",
    "summary": "in short",
    "brief": "on one line, before a tool",
}
_BUDGET, _MIN_BUDGET, _MAX_BUDGET = 1000, 50, 4000
_MAX_PROMPT = 4000


def render_trial(visit: PageVisit) -> Markup:
    """The part `try`: the form; its answer is fetched while the user types."""
    asked = visit.query.get("q", "")[:_MAX_PROMPT]
    recipes = [el("option", f"{name}: {what}", value=name) for name, what in _RECIPES.items()]
    return join(
        page_heading("Try", "Type a prompt and see what an agent would get. Nothing of it is kept."),
        el(
            "form",
            el("label", "Prompt", for_="prompt"),
            el("textarea", asked, id="prompt", name="query", rows="3", dir="auto", maxlength=_MAX_PROMPT,
               placeholder="How long does a basket hold its places?"),
            el(
                "div",
                _labelled_control("Recipe", "recipe", el("select", *recipes, id="recipe", name="recipe")),
                _slider("Floor", "floor", FLOOR, 0, 0.5, 0.01, "Nothing less probable than this is said"),
                _slider("Budget", "budget", _BUDGET, _MIN_BUDGET, _MAX_BUDGET, 50, "The most tokens"),
                class_="knobs",
            ),
            class_="trial",
            data_type="/page/try",
            data_w=visit.workspace,
            data_target="#answer",
        ),
        el("div", nothing_to_show_note("The answer appears here."), id="answer", aria_live="polite"),
    )  # fmt: skip


def _labelled_control(label: str, name: str, control: Markup) -> Markup:
    """A form control with its label."""
    return el("div", el("label", label, for_=name), control, class_="knob")


def _slider(label: str, name: str, value: float, least: float, most: float, step: float, hint: str) -> Markup:
    """A slider with its label and current value."""
    shown = el("output", f"{value:g}", for_=name)
    slider = el(
        "input", id=name, name=name, type="range", min=least, max=most, step=step, value=value, title=hint
    )
    return el("div", el("label", label, " ", shown, for_=name), slider, class_="knob")


def render_trial_context(visit: PageVisit) -> Markup:
    """The context that an agent would get for the prompt in the request, and why."""
    query = visit.text_field_from_body("query").strip()[:_MAX_PROMPT]
    if not query:
        return nothing_to_show_note("The answer appears here.")
    recipe = visit.text_field_from_body("recipe") or "coding"
    floor = _read_number(visit.body.get("floor"), FLOOR, 0.0, 1.0)
    budget = int(_read_number(visit.body.get("budget"), _BUDGET, 1, _MAX_BUDGET))
    text, receipt = _build_context(visit, query, recipe if recipe in _RECIPES else "coding", floor, budget)
    (story,) = load_receipt_stories(visit.engine, visit.workspace, [receipt])
    return join(
        context_as_sent_section(text),
        full_receipt_markup(story, lambda item: visit.link("memory", item)),
        times_section(story),
    )


def _build_context(
    visit: PageVisit, query: str, recipe: str, floor: float, budget: int
) -> tuple[str, Receipt]:
    """The text that a recipe makes for a query, and its receipt."""
    engine, workspace = visit.engine, visit.workspace
    if recipe not in ("coding", "brief"):
        options = ContextOptions(template=recipe, token_budget=budget, floor=floor)
        made = engine.preview_context(query, workspace, options)
        return made.context, made.receipt
    pipeline = InjectionPipeline(engine, floor=floor)
    if recipe == "coding":
        total = TokenBudget.with_total(budget)
        said = pipeline.generate_context(query, "", total, workspace=workspace, record=False)
    else:
        said = pipeline.generate_brief(
            query, "", min(budget, BRIEF_BUDGET), workspace=workspace, record=False
        )
    return said.formatted_context, said.receipt


def _read_number(value: Any, default: float, least: float, most: float) -> float:  # noqa: ANN401
    """The number that a form sent, moved into its bounds; the default for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return default
    return min(most, max(least, number)) if number == number else default
