import java.io.FileWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.RetryForever;
import sun.misc.Signal;

/** A replica that leads by Curator's LeaderLatch, asked before each operation. What it writes is as in replica.py. */
public final class CuratorPeer {
  private static final long PACE_MS = 1;
  private static final Map<String, String> words = new HashMap<>();
  private static volatile boolean handoverAsked;

  private final Connection ledger = DriverManager.getConnection("jdbc:sqlite:" + words.get("file"));
  private final FileWriter history = new FileWriter(words.get("history"), true);
  private final Path order = Path.of(words.get("order"));

  private CuratorPeer() throws Exception {
    try (Statement statement = ledger.createStatement()) {
      statement.execute("PRAGMA busy_timeout = 30000");
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (String word : arguments) words.put(word.split("=", 2)[0], word.split("=", 2)[1]);
    Signal.handle(new Signal("USR2"), signal -> handoverAsked = true);
    int session = Integer.parseInt(words.get("session-ms"));
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(words.get("hosts"), session, 15_000, new RetryForever(100));
    client.start();
    CuratorPeer replica = new CuratorPeer();
    while (true) {
      try (LeaderLatch latch = new LeaderLatch(client, "/curator/" + words.get("election"), words.get("id"))) {
        latch.start();
        System.out.println("stood_by");
        latch.await();
        replica.lead(latch);
      }
    }
  }

  private void lead(LeaderLatch latch) throws Exception {
    handoverAsked = false;
    long token = 0;
    while (!handoverAsked && latch.hasLeadership()) {
      if (Files.exists(order)) Thread.currentThread().join();
      token = operate(token);
      Thread.sleep(PACE_MS);
    }
  }

  private long operate(long token) throws Exception {
    if (!words.containsKey("append")) token = writeRow(token);
    else if (token == 0) token = System.nanoTime();
    history.write(System.nanoTime() + " " + token + " 1\n");
    history.flush();
    return token;
  }

  private long writeRow(long token) throws Exception {
    try (Statement statement = ledger.createStatement()) {
      statement.execute("BEGIN IMMEDIATE");
      if (token == 0)
        try (ResultSet next = statement.executeQuery("SELECT coalesce(max(token), 0) + 1 FROM ledger")) {
          token = next.getLong(1);
        }
      try (PreparedStatement insert = ledger.prepareStatement("INSERT INTO ledger(message, token) VALUES(?, ?)")) {
        insert.setString(1, words.get("id"));
        insert.setLong(2, token);
        insert.executeUpdate();
      }
      statement.execute("COMMIT");
    }
    return token;
  }
}
