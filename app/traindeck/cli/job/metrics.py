"""`traindeck job metrics`: the numbers of a run, out of its log."""

from __future__ import annotations

from collections.abc import Iterator

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import find_now
from traindeck.cli.main import Call
from traindeck.cli.readings import reading_document, reading_lines
from traindeck.domain.readings.reading import LogReading
from traindeck.domain.readings.tables import table_rows
from traindeck.domain.texts import say


async def metrics(call: Call) -> int:
    async with call.runs() as core:
        run = await find_now(call, core, call.options.run)
        reading = (await core.explaining.run(run)).reading
    if call.output.json_wanted:
        call.output.document({**run_words.document(run), **reading_document(reading)})
    elif call.options.csv:
        for line in _lines(reading):
            call.output.whole_line(line)
    elif reading.is_empty:
        call.output.note(say("The log of {name} has no numbers yet.", name=run.name))
    else:
        for line in reading_lines(reading):
            call.output.line(line)
    return DONE


def _lines(reading: LogReading) -> Iterator[str]:
    for row in table_rows(reading):
        yield ",".join(row)
