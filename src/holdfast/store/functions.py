"""How members of a team find words: two functions of its PostgreSQL that look with their owner's rights.

Why they are needed, and what they must not tell, `policies` says. They are there from PostgreSQL 14 on,
which binds a function to what its names mean. As those of `policies`, the texts are part of a step that was
released: they are never changed, only followed by others.

No words are none, not all items of a project; and a row is shown to be the caller's before anything else is
asked of it: a pattern may fail, and a time has an index of its own, by which others' rows would be fetched.
With as little memory as a caller might allow, the engine would note pages instead of rows, and fetch what
stands on them.
"""

from __future__ import annotations

from holdfast.store.policies import ME, NAMED, SEEN

#: Who called a function that runs as its owner: `current_user` is its owner there.
_CALLER = (
    "CASE current_setting('role') WHEN 'none' THEN CAST(session_user AS TEXT) "
    "ELSE current_setting('role') END"
)
#: What `SEEN` says, within such a function. Nobody sees more there, whoever owns it: while a table is
#: maintained, its owner's code runs in the session of another, who may be a superuser.
_SEEN_BY_CALLER = SEEN.replace(ME, _CALLER)
_NAMED = NAMED.replace(ME, _CALLER)
#: Of so many items one is marked as an example of its project, by its id; and of so many projects, for who
#: is in more, they are looked at.
EVERY, _SOME = 16, 32


def _word(mark: str, project: str) -> str:
    """A project among the words of an item, as `pgsql` makes it, as text of a tsquery."""
    hashed = f"left(encode(sha256(convert_to({project}, 'UTF8')), 'hex'), 24)"
    return f"'''{mark}' || {hashed} || ''''"


_OF_NONE, _WHOLE, _EXAMPLES = _word("/p", "''"), _word("/p", "m.project"), _word("/s", "m.project")
#: In which projects such a function looks, of `projects` or, where that is NULL, of all: as a tsquery; as
#: one for examples of them, which who is in `*` has none of, chosen by no order of their names; and of how
#: many items each is one. NULL, which finds nothing, for who is in none. What is of no project no member
#: finds by words, as none marks whose it is; holdfast sends no such items.
_SCOPE = (
    f"SELECT CASE WHEN bool_or(m.project = '*') THEN !! CAST({_OF_NONE} AS TSQUERY) "  # noqa: S608
    f"ELSE CAST(string_agg({_WHOLE}, ' | ') AS TSQUERY) END AS scope, CASE WHEN NOT "
    f"bool_or(m.project = '*') THEN CAST(string_agg({_EXAMPLES}, ' | ') FILTER (WHERE m.place <= {_SOME}) "
    f"AS TSQUERY) END AS examples, {EVERY} * greatest(1, CAST(count(*) AS FLOAT) / {_SOME}) AS times "
    "FROM (SELECT o.project, row_number() OVER (ORDER BY sha256(convert_to(o.project, 'UTF8'))) AS place "
    f"FROM (SELECT a.project FROM ({_NAMED}) AS a WHERE projects IS NULL OR a.project = ANY (projects) "
    f"UNION SELECT p FROM unnest(projects) AS p WHERE p NOT IN ('', '*') AND '*' IN ({_NAMED})"
    ") AS o) AS m"
)


def _to(asked: str, scope: str) -> str:
    """Words and projects are two conditions and not one tsquery: of one the index goes through all that any
    part of it finds. In which projects is asked in any case, and not first when a row holds the words: that
    would be counted."""
    known = f"(SELECT {scope} FROM mine)"  # noqa: S608
    return f"CASE WHEN {known} IS NULL THEN NULL ELSE {asked} END AND i.words @@ {known}"


_HOLDING = f"""
CREATE FUNCTION items_holding(asked TSQUERY, projects TEXT[], kinds TEXT[], said_in TEXT, since BIGINT,
    until BIGINT, file TEXT, file_ends TEXT, most INTEGER)
RETURNS TABLE (uid TEXT, id BIGINT, words TSVECTOR) LANGUAGE SQL STABLE SECURITY DEFINER
SET work_mem = '16MB' BEGIN ATOMIC
    WITH mine AS MATERIALIZED ({_SCOPE})
    SELECT i.uid, i.id, i.words FROM items i
    WHERE numnode(asked) > 0 AND i.words @@ {_to("asked", "scope")}
    AND CASE WHEN {_SEEN_BY_CALLER} THEN (kinds IS NULL OR i.kind = ANY (kinds))
        AND (said_in IS NULL OR i.session = said_in)
        AND (since IS NULL OR i.first_at >= since) AND (until IS NULL OR i.first_at < until)
        AND (file IS NULL OR EXISTS (SELECT 1 FROM unnest(i.files) AS f WHERE f = file OR f LIKE file_ends))
        ELSE false END
    LIMIT most; END
"""  # noqa: S608

#: About how many items hold each of some words. They are counted up to `most` and from there on reckoned:
#: they are found in the order in which they stand in the table, so where the last one stands says what part
#: of it was looked at. The statistics of the server would say it for less, but those are of all projects,
#: and no member is to learn what is said in others. Examples are counted, unless `every` item is to be: for
#: each word the index goes through all it has of a project, which may be most of what there is.
_COUNTED = f"""
CREATE FUNCTION items_counted(asked TSQUERY[], projects TEXT[], most INTEGER, every BOOLEAN)
RETURNS TABLE (held DOUBLE PRECISION) LANGUAGE SQL STABLE SECURITY DEFINER
SET work_mem = '16MB' BEGIN ATOMIC
    WITH mine AS MATERIALIZED (SELECT s.scope, s.times, CASE WHEN NOT every THEN s.examples END AS examples
        FROM ({_SCOPE}) AS s)
    SELECT f.held * (SELECT CASE WHEN examples IS NULL THEN 1 ELSE times END FROM mine)
        * CASE WHEN f.held < most THEN 1 ELSE greatest(1,
        pg_relation_size('items') / CAST(current_setting('block_size') AS INTEGER)
        / (1 + (CAST(CAST(f.last AS TEXT) AS POINT))[0])) END
    FROM unnest(asked) WITH ORDINALITY AS w (query, at) CROSS JOIN LATERAL (
        SELECT count(*) AS held, max(n.place) AS last FROM (SELECT i.ctid AS place FROM items i
            WHERE numnode(w.query) > 0 AND i.words @@ {_to("w.query", "coalesce(examples, scope)")}
            AND {_SEEN_BY_CALLER} LIMIT most) AS n) AS f
    ORDER BY w.at; END
"""  # noqa: S608

FOUND = f"{_HOLDING.strip()};\n{_COUNTED.strip()}"
