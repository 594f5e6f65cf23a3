from rich.console import Console

from freqlf.evaluation.tables import Table, find_best, format_number, to_markdown, to_rich

TABLE = Table(
    title="scores [px]",
    headings=("method", "a|b", "mean"),
    rows=(("one", "1.00", "2.00"), ("two", "0.50", "3.00")),
    summary=(("both", "0.75", "2.50"),),
    best=frozenset({(1, 1)}),
    notes=("A note.",),
)


def test_markdown():
    assert to_markdown(TABLE) == (
        "**scores [px]**\n\n"
        "| method | a\\|b | mean |\n"
        "| --- | ---: | ---: |\n"
        "| one | 1.00 | 2.00 |\n"
        "| two | **0.50** | 3.00 |\n"
        "| *both* | *0.75* | *2.50* |\n\n"
        "A note.\n"
    )


def test_a_terminal_shows_the_same():
    console = Console(width=60, record=True, file=None, quiet=False)
    with console.capture() as capture:
        console.print(to_rich(TABLE))
    text = capture.get()
    for cell in ("scores [px]", "a|b", "two", "0.50", "2.50", "A note."):
        assert cell in text


def test_numbers():
    assert format_number(1.2345, 2) == "1.23"
    assert format_number(None, 2) == format_number(float("nan"), 2) == "-"
    assert format_number(float("inf"), 2) == "inf"


def test_the_best_are_those_that_print_lowest():
    values = [[1.001, 5.0, None], [1.002, 4.0, float("inf")], [2.0, float("nan"), None]]
    assert find_best(values, [2, 2, 2]) == {(0, 0), (1, 0), (1, 1), (1, 2)}
