"""Names from a cluster are text, whatever is in them."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.adapters.cli.words import plain
from apportion.adapters.report.elements import escape, tag, verbatim
from apportion.adapters.report.page import Report, written
from apportion.models import Config, Plan, snapshot_of
from hostile import HOSTILE, answers_of, document_of
from reports import Element, parsed


def page_of(word: str) -> Element:
    return parsed(document_of(word))


def skeleton(page: Element) -> list[tuple[str, tuple[str, ...]]]:
    return [(e.name, tuple(e.attributes)) for e in page.walk()]


PLAIN = skeleton(page_of("word"))


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_make_no_markup(word: str) -> None:
    assert skeleton(page_of(word)) == PLAIN


PLAIN_ANSWERS = {command: skeleton(parsed(page)) for command, page in answers_of("word").items()}


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_make_no_markup_in_answers(word: str) -> None:
    pages = {command: parsed(page) for command, page in answers_of(word).items()}

    assert {command: skeleton(page) for command, page in pages.items()} == PLAIN_ANSWERS
    shown = plain(word)
    assert [c for c, page in pages.items() if shown not in page.all("main")[0].text] == []


@settings(max_examples=10, deadline=None)
@given(st.text(min_size=1, max_size=40))
def test_no_name_makes_markup_in_answers(word: str) -> None:
    for command, document in answers_of(word).items():
        assert skeleton(parsed(document)) == PLAIN_ANSWERS[command]
        acting = {c for c in document if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert acting <= {"\n"}


@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=40))
def test_no_name_makes_markup_or_a_character_that_acts(word: str) -> None:
    document = document_of(word)

    assert skeleton(parsed(document)) == PLAIN
    acting = {c for c in document if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert acting <= {"\n"}


@settings(max_examples=50)
@given(st.text())
def test_escaped_text_reads_as_it_was_written(text: str) -> None:
    shown = parsed(f"<p>{escape(text)}</p><p title='{escape(text)}'></p>")
    within, attribute = shown.all("p")

    assert within.text == attribute.attributes["title"]
    if text.isprintable():
        assert within.text == text
    assert not re.search("[<>\"']", escape(text))


def test_hostile_names_can_be_read_on_the_page() -> None:
    for word in HOSTILE[:6]:
        assert word in page_of(word).find("waits").text


def test_a_file_name_of_odd_bytes_is_shown() -> None:
    report = Report(Plan("", ""), snapshot_of(groups=[]), Config(), "a\udcff.yaml")

    assert parsed(written(report)).all("h1")[0].text == r"Plan of a\udcff.yaml"


def test_a_name_turns_nothing_around_it() -> None:
    assert "שלום" in {e.text for e in page_of("שלום").all("bdi")}
    assert r"\u202egnp.exe" in page_of("\u202egnp.exe").find("waits").text


def test_markup_of_a_string_has_to_be_made() -> None:
    assert tag("p", "<b>").markup == "<p>&lt;b&gt;</p>"
    assert tag("p", tag("b", 1), title='"').markup == '<p title="&quot;"><b>1</b></p>'
    with pytest.raises(ValueError, match="must not hold"):
        verbatim("</style>")
