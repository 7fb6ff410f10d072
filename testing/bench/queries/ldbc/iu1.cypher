// IU1: a new person.
MATCH (city:City {id: $cityId})
CREATE (person:Person {id: $personId, firstName: $firstName, lastName: $lastName, gender: $gender, birthday: $birthday,
                       creationDate: $creationDate, locationIP: $locationIP, browserUsed: $browserUsed,
                       speaks: $speaks, email: $emails})-[:IS_LOCATED_IN]->(city)
WITH person
CALL {
  WITH person
  UNWIND $tagIds AS tagId
  MATCH (tag:Tag {id: tagId})
  CREATE (person)-[:HAS_INTEREST]->(tag)
}
CALL {
  WITH person
  UNWIND $studyAt AS study
  MATCH (university:Organisation {id: study[0]})
  CREATE (person)-[:STUDY_AT {classYear: study[1]}]->(university)
}
CALL {
  WITH person
  UNWIND $workAt AS work
  MATCH (company:Organisation {id: work[0]})
  CREATE (person)-[:WORK_AT {workFrom: work[1]}]->(company)
}
