// A database inside a Java program, through JDBC: every row once, then rows of a skewed choice changed in transactions.
import java.sql.*;
import java.util.Random;

class Tables {
    public static void main(String[] arguments) throws Exception {
        int rows = Integer.parseInt(arguments[1]), changes = Integer.parseInt(arguments[2]), bytes = 900;
        var draw = new Random(1);
        var body = new byte[bytes];
        try (var database = DriverManager.getConnection(arguments[0])) {
            database.setAutoCommit(false);
            try (var statement = database.createStatement()) {
                statement.execute("create table things (id integer primary key, grp integer, body varchar(1000) for bit data)".replace(
                    "varchar(1000) for bit data", arguments[0].contains(":h2:") ? "varbinary(1000)" : "varchar(1000) for bit data"));
                statement.execute("create index things_group on things (grp)");
            }
            try (var insert = database.prepareStatement("insert into things values (?, ?, ?)")) {
                for (int row = 0; row < rows; row++) {
                    draw.nextBytes(body);
                    insert.setInt(1, row);
                    insert.setInt(2, draw.nextInt(5000));
                    insert.setBytes(3, body);
                    insert.executeUpdate();
                    if (row % 200 == 199) database.commit();
                }
            }
            database.commit();
            try (var update = database.prepareStatement("update things set grp = ?, body = ? where id = ?")) {
                for (int change = 0; change < changes; change++) {
                    draw.nextBytes(body);
                    update.setInt(1, draw.nextInt(5000));
                    update.setBytes(2, body);
                    update.setInt(3, (int) (draw.nextDouble() * draw.nextDouble() * rows));
                    update.executeUpdate();
                    if (change % 20 == 19) database.commit();
                }
            }
            database.commit();
        }
        try {
            if (arguments[0].contains(":derby:")) DriverManager.getConnection("jdbc:derby:;shutdown=true");
        } catch (SQLException said) {
            // Derby says by an exception that it has shut down.
        }
    }
}
