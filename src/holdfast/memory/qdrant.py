"""Vectors of a team in Qdrant, around a shelf that keeps everything else.

Qdrant knows no roles: a point is asked for by the projects that the shelf inside shows to whoever asks, in
every single question, and what it names is told only where that shelf has it, too. A point is made from an
item and can be made again. One collection for each model and size.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

from holdfast.errors import BadInput, MissingExtra, Unavailable
from holdfast.extras import extra_command
from holdfast.memory.postgres import Postgres
from holdfast.memory.shelf import Counts, Filter, Item, Row
from holdfast.memory.terms import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy
    from qdrant_client import QdrantClient

_PATIENCE_S = 5
_PREFIX = "holdfast-"
#: Asked for and looked at, where the shelf inside has to say which of them are meant.
_MORE = 8
_AT_ONCE = 500


class VectorsAway(Unavailable):
    """Qdrant does not answer; the rest of a team's memory may."""


class Qdrant:
    def __init__(self, inside: Postgres, url: str) -> None:
        self.inside = inside
        self._url = url
        self._where = _shown(url)

    # Vectors

    def nearest(
        self, model: str, vector: numpy.ndarray, where: Filter, most: int
    ) -> list[tuple[str, float]]:
        narrow = replace(where, projects=(), collections=(), origins=()) != Filter()
        found = self._found(_name(model, len(vector)), vector, where, [], most * _MORE if narrow else most)
        # By the shelf: it knows what may be seen, and what was erased a moment ago.
        meant = self.inside.meant([uid for uid, _ in found], where)
        return [(uid, fit) for uid, fit in found if uid in meant][:most]

    def similar(self, model: str, vector: numpy.ndarray, uids: Sequence[str]) -> dict[str, float]:
        if not uids:
            return {}
        return dict(self._found(_name(model, len(vector)), vector, Filter(), list(uids), len(uids)))

    def _found(
        self, name: str, vector: numpy.ndarray, where: Filter, uids: Sequence[str], most: int
    ) -> list[tuple[str, float]]:
        projects = where.projects or self.inside.projects(uids)
        if not projects:
            return []
        with self._asking() as (client, models):
            if not client.collection_exists(name):
                return []
            must: list[Any] = [_among(models, "project", projects)]
            must += [_among(models, "collection", where.collections)] if where.collections else []
            must += [_among(models, "origin", where.origins)] if where.origins else []
            must += [models.HasIdCondition(has_id=[_id(uid) for uid in uids])] if uids else []
            found = client.query_points(
                name,
                query=vector.tolist(),
                query_filter=models.Filter(must=must),
                limit=most,
                with_payload=["uid"],
            )
        return [(str((one.payload or {})["uid"]), float(one.score)) for one in found.points]

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, numpy.ndarray]]) -> None:
        if not vectors:
            return
        rows = self.inside.rows([uid for uid, _ in vectors])
        with self._asking() as (client, models):
            points = [
                models.PointStruct(id=_id(uid), vector=one.tolist(), payload=_payload(rows[uid]))
                for uid, one in vectors
                if uid in rows
            ]
            name = _name(model, len(vectors[0][1]))
            self._make(client, models, name, len(vectors[0][1]))
            if points:
                client.upsert(name, points, wait=True)

    def _make(self, client: QdrantClient, models: Any, name: str, size: int) -> None:
        from qdrant_client.http.exceptions import UnexpectedResponse

        if client.collection_exists(name):
            return
        how = models.VectorParams(
            size=size, distance=models.Distance.COSINE, datatype=models.Datatype.FLOAT16
        )
        try:
            client.create_collection(name, vectors_config=how)
        except (UnexpectedResponse, ValueError):
            if not client.collection_exists(name):  # else another machine was faster
                raise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # embedded, it needs none, and says so
            tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            client.create_payload_index(name, "project", field_schema=tenant, wait=True)

    def lacking(self, model: str, size: int, most: int) -> list[tuple[str, str]]:
        name = _name(model, size)
        with self._asking() as (client, _):
            if not client.collection_exists(name):
                return self.inside.lacking(model, size, most)
            # The shelf inside keeps none: all of its own lack one.
            every = self.inside.lacking(model, size, 1 << 30)
            found: list[tuple[str, str]] = []
            for at in range(0, len(every), _AT_ONCE):
                some = every[at : at + _AT_ONCE]
                ids = [_id(uid) for uid, _ in some]
                known = {str(one.id) for one in client.retrieve(name, ids, with_payload=False)}
                found += [one for one in some if _id(one[0]) not in known]
                if len(found) >= most:
                    break
        return found[:most]

    def counts(self, model: str = "") -> Counts:
        inside = self.inside.counts()
        counted: dict[str, int] = {}
        projects = self.inside.projects()
        with self._asking() as (client, models):
            for one in client.get_collections().collections if projects else ():
                if one.name.startswith(_PREFIX):
                    known = one.name.removeprefix(_PREFIX).rpartition("-")[0]
                    meant = models.Filter(must=[_among(models, "project", projects)])
                    number = client.count(one.name, count_filter=meant, exact=True).count
                    counted[known] = counted.get(known, 0) + number
        models_there = {name: number for name, number in counted.items() if number}
        return replace(inside, vectors=models_there.get(model, 0), models=models_there)

    def _drop(self, condition: Any) -> None:
        """From every collection; `condition`, given their models, says which."""
        with self._asking() as (client, models):
            for one in client.get_collections().collections:
                if one.name.startswith(_PREFIX):
                    client.delete(one.name, points_selector=condition(models), wait=True)

    def _drop_uids(self, uids: Sequence[str]) -> None:
        if uids:
            self._drop(lambda models: models.PointIdsList(points=[_id(uid) for uid in uids]))

    # What the shelf inside keeps

    def add(self, items: Sequence[Item]) -> int:
        before = self.inside.rows([item.uid for item in items])
        new = self.inside.add(items)
        after = self.inside.rows(list(before))
        self._drop_uids([uid for uid, row in after.items() if row.shape != before[uid].shape])
        return new

    def send(
        self, items: Sequence[Row], gone: Sequence[str], vectors: dict[str, list[tuple[str, numpy.ndarray]]]
    ) -> None:
        """First there, then here: what fails in between is sent again, and changes nothing."""
        self.inside.send(items, gone, {})
        made = {uid for some in vectors.values() for uid, _ in some}
        self._drop_uids([*gone, *(item.uid for item in items if item.uid not in made)])
        for model, some in vectors.items():
            self.put_vectors(model, some)

    def remove(self, uids: Iterable[str]) -> int:
        """First here: what is left of it elsewhere can be found, and erased, again."""
        given = list(uids)
        self._drop_uids(given)
        return self.inside.remove(given)

    def forget(self, project: str, shapes: Sequence[str]) -> int:
        def those(models: Any) -> Any:
            must = [_among(models, "project", [project]), _among(models, "shape", shapes)]
            return models.FilterSelector(filter=models.Filter(must=must))

        if shapes:
            self._drop(those)
        return self.inside.forget(project, shapes)

    def forgotten(self, projects: Sequence[str]) -> list[tuple[str, str]]:
        return self.inside.forgotten(projects)

    def keyword(self, words: Sequence[str], where: Filter, most: int) -> list[tuple[str, float]]:
        return self.inside.keyword(words, where, most)

    def common(self, words: Sequence[str], where: Filter) -> dict[str, float]:
        return self.inside.common(words, where)

    def size(self, where: Filter) -> int:
        return self.inside.size(where)

    def rows(self, uids: Sequence[str]) -> dict[str, Row]:
        return self.inside.rows(uids)

    def around(self, uid: str, before: int, after: int) -> list[Row]:
        return self.inside.around(uid, before, after)

    def timeline(self, where: Filter, most: int) -> list[Row]:
        return self.inside.timeline(where, most)

    @contextmanager
    def _asking(self) -> Iterator[tuple[QdrantClient, Any]]:
        try:
            from qdrant_client import models
            from qdrant_client.http.exceptions import ApiException
        except ModuleNotFoundError:
            raise MissingExtra(f"vectors.url needs the extra `qdrant`: {extra_command('qdrant')}") from None
        try:
            yield _client(self._url), models
        except (ApiException, OSError) as problem:
            said = (
                str(problem).strip().splitlines()[0][:200]
                if str(problem).strip()
                else type(problem).__name__
            )
            raise VectorsAway(f"{self._where} (vectors.url) cannot be used now: {said}") from problem


@cache
def _client(url: str) -> QdrantClient:
    """One for each address and process: embedded, it is one folder's only one."""
    from qdrant_client import QdrantClient

    if url == ":memory:":
        return QdrantClient(":memory:")
    if "://" not in url:
        return QdrantClient(path=url)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("vectors.url takes http(s)://[key@]host[:port], or a folder for the embedded mode")
    secret = parts.username or parts.password
    if secret and parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise BadInput("vectors.url has a key, and http:// would show it to the network: use https://")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a key on loopback
        return QdrantClient(
            url=_shown(url),
            port=parts.port or (443 if parts.scheme == "https" else 6333),
            api_key=secret,
            timeout=_PATIENCE_S,
            check_compatibility=False,  # that is one more question before the first
        )


def _shown(url: str) -> str:
    """Without the key."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _name(model: str, size: int) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in model)
    return f"{_PREFIX}{plain}-{size}"


def _id(uid: str) -> str:
    return str(UUID(hex=(key(uid) + key(uid, "point"))[:32]))


def _payload(row: Row) -> dict[str, str]:
    return {
        "uid": row.uid,
        "project": row.project,
        "collection": row.collection,
        "origin": row.origin,
        "shape": row.shape,
    }


def _among(models: Any, name: str, given: Sequence[str]) -> Any:
    return models.FieldCondition(key=name, match=models.MatchAny(any=list(given)))
