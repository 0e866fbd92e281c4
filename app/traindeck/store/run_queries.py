"""What is asked of the runs, as SQL."""

from __future__ import annotations

from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.run_query import RunQuery, RunSort

OVER = tuple(state.value for state in RunState if state.is_over)

# Only of runs that are over is the run time known here; one that goes on has run longest, so far as anybody knows.
_DURATION = "CASE WHEN ended IS NULL THEN 1e18 ELSE coalesce(duration_ms, 0) END"
_ORDERS = {
    RunSort.NUMBER: "number",
    RunSort.NAME: "name COLLATE NOCASE",
    RunSort.STATE: "state",
    RunSort.DURATION: _DURATION,
    RunSort.ENDED: "coalesce(ended, '9')",
    RunSort.ACCOUNT: "profile COLLATE NOCASE",
}
_LONGEST_NUMBER = 12
_SEARCHED = "(name, id, spec, note, tags, reason, job_id)"


def statement(query: RunQuery, wanted_columns: str = "*") -> tuple[str, dict[str, object]]:
    values: dict[str, object] = {}
    wanted: list[str] = []

    def value(content: object) -> str:
        name = f"v{len(values)}"
        values[name] = content
        return f":{name}"

    for word in query.words:
        mark = value(f"%{_plain(word)}%")
        columns = _SEARCHED.strip("()").split(", ")
        hits = [f"{column} LIKE {mark} ESCAPE '!'" for column in columns]
        if word.isdecimal() and len(word) <= _LONGEST_NUMBER:
            hits.append(f"number = {value(int(word))}")
        wanted.append(f"({' OR '.join(hits)})")
    if query.states:
        wanted.append(f"state IN ({', '.join(value(state.value) for state in query.states)})")
    if query.account is not None:
        wanted.append(f"profile = {value(query.account)}")
    for tag in query.tags:
        # A key is found with any value.
        key = f"json_each.value = {value(tag)} OR json_each.value LIKE {value(_plain(tag) + '=%')} ESCAPE '!'"
        wanted.append(f"json_valid(tags) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE {key})")
    if query.starred:
        wanted.append("starred")
    if query.since is not None:
        wanted.append(f"julianday(created) >= julianday({value(query.since.isoformat())})")
    source, order = "runs", f"{_ORDERS[query.sort]} {'ASC' if query.ascending else 'DESC'}, number DESC"
    if query.best is not None:
        source = f"runs JOIN metrics ON run_id = id AND metrics.name = {value(query.best.name)}"
        order = "lowest ASC" if query.best.lowest else "highest DESC"
        # NaN is kept as a word, which sorts behind all numbers.
        order = f"(typeof(last) = 'text' OR abs(last) = 9e999), {order}, number DESC"
        wanted = [condition.replace("(name LIKE", "(runs.name LIKE") for condition in wanted]
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    limit = "" if query.limit is None else f" LIMIT {value(query.limit)}"
    return f"SELECT runs.{wanted_columns} FROM {source}{where} ORDER BY {order}{limit}", values


def _plain(word: str) -> str:
    for sign in "!%_":
        word = word.replace(sign, f"!{sign}")
    return word
