"""`traindeck job compare`: what differs between runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import bring_up_to_date, find
from traindeck.cli.main import Call
from traindeck.domain.jobs.comparison import ComparedRow, value_words
from traindeck.domain.texts import say, say_count


async def compare(call: Call) -> int:
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        runs = [await find(call, core, reference) for reference in call.options.runs]
        comparison = await core.comparing.compare([run.id for run in runs])
    rows = comparison.rows if call.options.all else comparison.different
    hidden = len(comparison.rows) - len(rows)
    if call.output.json_wanted:
        call.output.document(
            {
                "runs": [run_words.document(run) for run in comparison.runs],
                "rows": [
                    {"section": row.section.name.lower(), "name": row.name, "values": row.values, "equal": row.is_equal}
                    for row in rows
                ],
                "hidden": hidden,
            }
        )
        return DONE
    heads = ["", *(f"{run.number} {run.name}" for run in comparison.runs)]
    _print(call, heads, rows)
    if not rows:
        call.output.note(say("These runs do not differ in anything that is known of them."))
    if hidden:
        call.output.note(
            say_count(
                "{count} equal row is hidden; --all shows it.",
                "{count} equal rows are hidden; --all shows them.",
                hidden,
            )
        )
    return DONE


def _print(call: Call, heads: Sequence[str], rows: Sequence[ComparedRow]) -> None:
    cells: list[list[str]] = []
    for section, content in groupby(rows, key=lambda row: row.section):
        cells.append([say(section.value).upper(), *("" for _ in heads[1:])])
        cells += [[f"  {row.title}", *(value_words(value) for value in row.values)] for row in content]
    if cells:
        call.output.table(heads, cells)
