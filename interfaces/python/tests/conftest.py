"""Databases for the tests."""

import pytest

import tanglewood


@pytest.fixture
def db():
    with tanglewood.connect(":memory:") as database:
        yield database


@pytest.fixture
def people(db):
    db.query(
        "CREATE (a:Person {name: 'Ada', age: 36}), (c:Person {name: 'Charles', age: 41}), (m:Person {name: 'Mary'}),"
        " (a)-[:KNOWS {since: 1833}]->(c), (m)-[:KNOWS {since: 1834}]->(a)"
    )
    return db
