import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Neo4j's JDBC driver, as DBeaver and its like use it: java -cp LIB JdbcCheck.java PORT. */
public class JdbcCheck {
    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:neo4j://127.0.0.1:" + arguments[0] + "/neo4j";
        try (Connection connection = DriverManager.getConnection(url, "neo4j", "secret")) {
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("CREATE (:Person {name: 'Ada', born: 1815})-[:KNOWS {since: 1833}]->(:Person {name: 'Charles', born: 1791})");
            }
            try (PreparedStatement statement = connection.prepareStatement("MATCH (p:Person) WHERE p.born > $1 RETURN p.name AS name, p.born AS born ORDER BY name")) {
                statement.setInt(1, 1700);
                List<String> found = new ArrayList<>();
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) found.add(rows.getString("name") + " " + rows.getLong("born"));
                }
                expect(found, List.of("Ada 1815", "Charles 1791"));
            }
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("CREATE (:Person {name: 'Nobody'})");
            }
            connection.rollback();
            connection.setAutoCommit(true);
            expect(one(connection, "MATCH (p:Person) RETURN count(p)"), "2");
            metadata(connection.getMetaData());
            try (Statement statement = connection.createStatement()) {
                statement.executeQuery("RETURN nothing");
                throw new AssertionError("a wrong statement is answered");
            } catch (SQLException error) {
                if (!String.valueOf(error.getCause()).contains("`nothing` is not defined")) throw error;
            }
            expect(connection.isValid(5), true);
        }
        System.out.println("the JDBC driver is answered");
    }

    private static void metadata(DatabaseMetaData metadata) throws SQLException {
        System.out.println(metadata.getDatabaseProductName() + " " + metadata.getDatabaseProductVersion());
        expect(column(metadata.getTables(null, null, null, null), "TABLE_NAME").contains("Person"), true);
        expect(column(metadata.getColumns(null, null, "Person", null), "COLUMN_NAME").containsAll(List.of("name", "born")), true);
        expect(column(metadata.getProcedures(null, null, "db.labels"), "PROCEDURE_NAME"), List.of("db.labels"));
        expect(column(metadata.getSchemas(), "TABLE_SCHEM").contains("public"), true);
        column(metadata.getCatalogs(), "TABLE_CAT");
        column(metadata.getTableTypes(), "TABLE_TYPE");
        column(metadata.getIndexInfo(null, null, "Person", false, true), "INDEX_NAME");
        column(metadata.getPrimaryKeys(null, null, "Person"), "COLUMN_NAME");
        expect(column(metadata.getFunctions(null, null, "abs"), "FUNCTION_NAME"), List.of("abs"));
        expect(column(metadata.getProcedureColumns(null, null, "db.awaitIndex", null), "COLUMN_NAME"), List.of("indexName", "timeOutSeconds"));
        navigator(metadata);
    }

    /** What the tree of a database tool asks for beside, with the patterns that it gives. */
    private static void navigator(DatabaseMetaData metadata) throws SQLException {
        String catalogue = metadata.getConnection().getCatalog();
        expect(column(metadata.getTables(catalogue, "public", "%", new String[] {"TABLE"}), "TABLE_NAME").contains("Person"), true);
        expect(column(metadata.getTables(catalogue, "public", "%", new String[] {"RELATIONSHIP"}), "TABLE_NAME").contains("Person_KNOWS_Person"), true);
        expect(column(metadata.getTables(catalogue, "public", "Nobody", null), "TABLE_NAME"), List.of());
        expect(column(metadata.getColumns(catalogue, "public", null, "%"), "COLUMN_NAME").containsAll(List.of("name", "born", "since")), true);
        // The driver adds the identity.
        expect(column(metadata.getColumns(catalogue, "public", "Person", null), "TYPE_NAME"), List.of("STRING", "INTEGER", "STRING"));
        expect(column(metadata.getColumns(catalogue, "public", "Person", "na%"), "COLUMN_NAME"), List.of("name"));
        expect(column(metadata.getSchemas(catalogue, "public"), "TABLE_SCHEM"), List.of("public"));
        expect(column(metadata.getFunctionColumns(null, null, "abs", null), "FUNCTION_NAME").contains("abs"), true);
        column(metadata.getImportedKeys(catalogue, "public", "Person"), "FKCOLUMN_NAME");
        column(metadata.getExportedKeys(catalogue, "public", "Person"), "FKCOLUMN_NAME");
        expect(metadata.supportsTransactions(), true);
        expect(metadata.getIdentifierQuoteString().isEmpty(), false);
        for (String words : List.of(metadata.getSQLKeywords(), metadata.getNumericFunctions(), metadata.getStringFunctions(), metadata.getSystemFunctions(), metadata.getTimeDateFunctions())) {
            expect(words == null, false);
        }
    }

    private static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> found = new ArrayList<>();
        try (rows) {
            while (rows.next()) found.add(rows.getString(name));
        }
        return found;
    }

    private static String one(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(text)) {
            rows.next();
            return String.valueOf(rows.getObject(1));
        }
    }

    private static void expect(Object found, Object wanted) {
        if (!wanted.equals(found)) throw new AssertionError(found + " is not " + wanted);
    }
}
