"""langchain-neo4j and neo4j-graphrag, unchanged: python3 graph_tools.py PORT. No model is asked: an answer of one is fixed."""
import asyncio
import logging
import sys

import neo4j
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_neo4j import GraphCypherQAChain, Neo4jChatMessageHistory, Neo4jGraph
from langchain_neo4j.graphs.graph_document import GraphDocument, Node, Relationship
from neo4j_graphrag.components.kg_writer import Neo4jWriter
from neo4j_graphrag.components.types import Neo4jGraph as Extracted, Neo4jNode, Neo4jRelationship
from neo4j_graphrag.llm import LLMInterface, LLMResponse
from neo4j_graphrag.retrievers import Text2CypherRetriever
from neo4j_graphrag.schema import get_schema

logging.getLogger("neo4j").setLevel(logging.ERROR)
url, auth = f"bolt://127.0.0.1:{sys.argv[1]}", ("neo4j", "secret")


def langchain():
    graph = Neo4jGraph(url=url, username=auth[0], password=auth[1], enhanced_schema=True)
    ada, works = Node(id="Ada", type="Person", properties={"born": 1815}), Node(id="Engines", type="Company")
    edge = Relationship(source=ada, target=works, type="WORKS_AT", properties={"since": 1840})
    source = Document(page_content="Ada works at Engines", metadata={"page": 1})
    document = GraphDocument(nodes=[ada, works], relationships=[edge], source=source)
    for base in (False, True):
        for with_source in (False, True):
            # Twice: what is there is found again.
            for _ in range(2):
                graph.add_graph_documents([document], include_source=with_source, baseEntityLabel=base)
    graph.query("CREATE INDEX person_id FOR (n:Person) ON (n.id)")
    graph.refresh_schema()
    for line in ("- **Person**", "`born`: INTEGER Min: 1815, Max: 1815", "`since`: INTEGER",
                 "(:Person)-[:WORKS_AT]->(:Company)", "(:Document)-[:MENTIONS]->(:Person)"):
        assert line in graph.schema, graph.schema
    counted = graph.query("MATCH (n) RETURN labels(n) AS labels, count(*) AS count ORDER BY labels")
    assert {(tuple(row["labels"]), row["count"]) for row in counted} == {
        (("Company",), 1), (("Company", "__Entity__"), 1), (("Document",), 1),
        (("Person",), 1), (("Person", "__Entity__"), 1)}, counted
    metadata = graph.structured_schema["metadata"]
    assert {"label": "Person", "properties": ["id"]}.items() <= next(
        one for one in metadata["index"] if one["label"] == "Person").items(), metadata
    assert metadata["constraint"][0]["type"] == "UNIQUENESS", metadata
    model = FakeListChatModel(responses=["MATCH (p:Person)-[:WORKS_AT]->(c) RETURN DISTINCT c.id AS at", "At Engines."])
    chain = GraphCypherQAChain.from_llm(model, graph=graph, allow_dangerous_requests=True, return_intermediate_steps=True)
    told = chain.invoke({"query": "Where does Ada work?"})
    assert told["result"] == "At Engines." and told["intermediate_steps"][1]["context"] == [{"at": "Engines"}], told
    history = Neo4jChatMessageHistory(session_id="s", url=url, username=auth[0], password=auth[1])
    history.add_messages([HumanMessage("hello"), AIMessage("good day")])
    assert [message.content for message in history.messages] == ["hello", "good day"]
    history.clear()
    assert history.messages == []


class Model(LLMInterface):
    def __init__(self):
        super().__init__(model_name="fixed")

    def invoke(self, input, *_, **__):
        return LLMResponse(content="MATCH (p:Person) WHERE p.born < 1900 RETURN DISTINCT p.id AS name")

    async def ainvoke(self, input, *_, **__):
        return self.invoke(input)


def graphrag(driver):
    nodes = [Neo4jNode(id=str(at), label="City", properties={"name": name}, embedding_properties={"vector": [0.5, at]})
             for at, name in enumerate(["Paris", "Rome"])]
    edge = Neo4jRelationship(start_node_id="0", end_node_id="1", type="TWIN_OF", properties={"since": 1956},
                             embedding_properties={"vector": [1.0]})
    asyncio.run(Neo4jWriter(driver).run(Extracted(nodes=nodes, relationships=[edge])))
    found = driver.execute_query(
        "MATCH (a:City)-[r:TWIN_OF]->(b:City) RETURN a.name, a.vector, r.since, r.vector, b.name, keys(a) AS keys").records
    assert [list(row)[:5] for row in found] == [["Paris", [0.5, 0.0], 1956, [1.0], "Rome"]], found
    assert "(:City)-[:TWIN_OF]->(:City)" in get_schema(driver), get_schema(driver)
    retriever = Text2CypherRetriever(driver, llm=Model(), neo4j_schema=get_schema(driver))
    items = retriever.search(query_text="Who was born before 1900?").items
    assert len(items) == 1 and "Ada" in items[0].content, items


langchain()
with neo4j.GraphDatabase.driver(url, auth=auth) as driver:
    graphrag(driver)
print("langchain-neo4j and neo4j-graphrag are answered")
