"""Standing queries as iterators, and asyncio."""

import asyncio
import threading

import pytest

import tanglewood


def test_changes_come_one_by_one(db):
    db.create_standing("adults", "MATCH (p:Person) WHERE p.age >= 18 RETURN p.name AS name")
    db.query("CREATE (:Person {name: 'Ada', age: 36})")
    with db.subscribe("adults", snapshot=True) as changes:
        assert changes.columns == ("name",)
        first = next(changes)
        assert (first.difference, first.row["name"]) == (1, "Ada")
        assert changes.next(timeout=0.05) is None
        db.query("CREATE (:Person {name: 'Bob', age: 10})")
        db.query("MATCH (p {name: 'Bob'}) SET p.age = 18")
        db.query("MATCH (p {name: 'Ada'}) DELETE p")
        assert [(c.difference, c.row["name"]) for c in (next(changes), next(changes))] == [(1, "Bob"), (-1, "Ada")]
        assert changes.next(timeout=0.5) is None
        mark = changes.mark
    with pytest.raises(StopIteration):
        next(changes)
    db.query("MATCH (p {name: 'Bob'}) DELETE p")
    with db.subscribe("adults", after=mark, marks=True) as changes:
        found = [next(changes)]
        while found[-1].row is None:
            found.append(next(changes))
        assert found[-1].difference == -1 and found[-1].row == ("Bob",)
    db.drop_standing("adults")
    with pytest.raises(tanglewood.Error):
        db.subscribe("adults")


def test_arguments_and_dropping(db):
    db.create_standing("of `k`", "MATCH (n:N) WHERE n.k = $k RETURN n.v AS v")
    changes = db.subscribe("of `k`", {"k": 2})
    db.query("CREATE (:N {k: 1, v: 1}), (:N {k: 2, v: 2})")
    assert next(changes).row == (2,)
    db.drop_standing("of `k`")
    with pytest.raises(tanglewood.Error):
        list(changes)
    with pytest.raises(tanglewood.NotSupportedError):
        db.create_standing("bad", "MATCH (n) RETURN rand() AS r")


def test_async_changes(db):
    db.create_standing("q", "MATCH (n:N) RETURN n.x AS x")

    async def main():
        found = []
        async with db.subscribe("q") as changes:

            async def write():
                async with db.async_session() as session:
                    for x in range(5):
                        await session.query("CREATE (:N {x: $x})", {"x": x})

            writing = asyncio.ensure_future(write())
            async for change in changes:
                found.append(change.row["x"])
                if len(found) == 5:
                    break
            await writing
        return found

    assert asyncio.run(asyncio.wait_for(main(), 60)) == list(range(5))


def test_who_gives_up_waiting_loses_nothing(db):
    db.create_standing("q", "MATCH (n:N) RETURN n.x AS x")

    async def main():
        found = []
        async with db.subscribe("q") as changes, db.async_session() as session:
            for x in range(40):
                with pytest.raises(asyncio.TimeoutError):
                    while True:
                        change = await asyncio.wait_for(changes.__anext__(), 0.004)
                        found.append(change.row["x"])
                await session.query("CREATE (:N {x: $x})", {"x": x})
            while len(found) < 40:
                found.append((await changes.__anext__()).row["x"])
        return found

    assert asyncio.run(asyncio.wait_for(main(), 120)) == list(range(40))


def test_async_sessions(db):
    async def main():
        async with db.async_session() as session:
            await session.query("UNWIND range(1, 3000) AS x CREATE (:N {x: x})")
            result = await session.query("MATCH (n:N) RETURN n.x AS x ORDER BY x")
            assert [row["x"] async for row in result] == list(range(1, 3001))
            assert (await (await session.run("RETURN $a AS a", a=1)).rows()) == [(1,)]
            assert (await (await session.gremlin("g.V().count()")).value()) == 3000
            with pytest.raises(ZeroDivisionError):
                async with session.transaction() as tx:
                    await tx.query("CREATE (:M)")
                    1 / 0
            async with session.transaction():
                await session.query("CREATE (:M)")
            assert (await (await session.query("MATCH (n:M) RETURN count(n)")).value()) == 1
            with pytest.raises(tanglewood.QuerySyntaxError):
                await session.query("RETUR 1")

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_cancelled_task_ends_its_statement(db):
    async def main():
        async with db.async_session() as session:
            endless = "UNWIND range(1, 100000) AS x UNWIND range(1, 1000000) AS y WITH count(*) AS c CREATE (:A {c: c})"
            task = asyncio.ensure_future(session.query(endless))
            ticks = 0
            for _ in range(20):
                await asyncio.sleep(0.02)
                ticks += 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ticks == 20
            assert (await (await session.query("MATCH (a:A) RETURN count(a)")).value()) == 0

    asyncio.run(asyncio.wait_for(main(), 120))


def test_closing_wakes_who_waits(db):
    db.create_standing("q", "MATCH (n:N) RETURN n.x AS x")
    changes = db.subscribe("q")
    timer = threading.Timer(0.3, changes.close)
    timer.start()
    with pytest.raises(StopIteration):
        next(changes)
    timer.join()


def test_a_cancelled_task_ends_its_read(db):
    async def main():
        async with db.async_session() as session:
            result = await session.query("UNWIND range(1, 1000000000000) AS x RETURN count(x)")
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(result.rows(), 0.3)
            with pytest.raises(tanglewood.Interrupted):
                await result.rows()
            assert (await (await session.query("RETURN 1")).value()) == 1

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_cancelled_task_leaves_the_statements_of_others(db):
    async def main():
        async with db.async_session() as session:
            first = asyncio.ensure_future(session.query("UNWIND range(1, 300000) AS x CREATE (:N {x: x})"))
            await asyncio.sleep(0.05)
            second = asyncio.ensure_future(session.query("CREATE (:M)"))
            await asyncio.sleep(0.01)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            await first
            counts = await session.query("MATCH (n) RETURN labels(n)[0] AS l, count(*) AS c")
            assert await counts.rows() == [("N", 300000)]

    asyncio.run(asyncio.wait_for(main(), 300))


def test_a_cancelled_begin_leaves_nothing_open(db):
    async def main():
        async with db.async_session() as session:
            for turn in range(40):

                async def work():
                    async with session.transaction():
                        await asyncio.sleep(60)

                task = asyncio.ensure_future(work())
                for _ in range(turn % 8):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert not await session._call(lambda: session._session.in_transaction)

    asyncio.run(asyncio.wait_for(main(), 120))
