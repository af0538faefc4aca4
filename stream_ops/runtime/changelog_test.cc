#include "stream_ops/runtime/changelog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream_ops/runtime/changelog_fold.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ChangelogWriter kFirst{1, 0xa};
constexpr ChangelogWriter kSecond{2, 0xb};

// A changelog of one task, and what a reader of it makes of it.
class Changelog {
 public:
  explicit Changelog(size_t record_bytes_max = 1'000'000) : record_bytes_max_(record_bytes_max) {}

  void Put(ChangelogWriter writer, std::string_view row, std::string_view value,
           size_t former_bytes = 0) {
    std::vector<ProducerRecord> made;
    RecordsOf(writer).Put(RowName(Table::kProgress, row), value, former_bytes, &made);
    AppendAll(std::move(made));
  }
  void Delete(ChangelogWriter writer, std::string_view row, size_t former_bytes) {
    std::vector<ProducerRecord> made;
    RecordsOf(writer).Delete(RowName(Table::kProgress, row), former_bytes, &made);
    AppendAll(std::move(made));
  }
  void Commit(ChangelogWriter writer, TaskPosition position) {
    AppendAll({RecordsOf(writer).Committed(position)});
  }
  // As the broker does: of each key only the newest, up to the last so many records.
  void Compact(size_t left_alone) {
    std::map<std::string, size_t> newest;
    for (size_t i = 0; i + left_alone < records_.size(); ++i) newest[records_[i].key] = i;
    std::vector<ConsumerRecord> kept;
    for (size_t i = 0; i < records_.size(); ++i) {
      const bool alone = i + left_alone >= records_.size();
      if (alone || newest[records_[i].key] == i) kept.push_back(records_[i]);
    }
    records_ = std::move(kept);
  }

  ChangelogFold Fold() const {
    ChangelogFold fold;
    for (const ConsumerRecord& record : records_) fold.Add(record);
    return fold;
  }
  // What a new owner finds.
  std::map<std::string, std::string> Rows() const {
    std::map<std::string, std::string> rows;
    ChangelogFold fold = Fold();
    const StateChanges committed = fold.TakeCommitted();
    for (const StateChanges::Change& change : committed.changes()) {
      if (change.kind == StateChanges::Change::Kind::kPut) {
        rows[change.key] = change.value;
      } else {
        rows.erase(change.key);
      }
    }
    return rows;
  }
  std::vector<ConsumerRecord>& records() { return records_; }

 private:
  ChangelogRecords RecordsOf(ChangelogWriter writer) const {
    return {"eroica.sum-changelog", 3, writer, record_bytes_max_};
  }
  void AppendAll(std::vector<ProducerRecord> made) {
    for (ProducerRecord& record : made) {
      EXPECT_LE(RecordBytes(record), record_bytes_max_);
      EXPECT_EQ(record.partition, 3);
      records_.push_back({record.topic, 3, next_++, 0, record.key, record.value, record.headers});
    }
  }

  const size_t record_bytes_max_;
  int64_t next_ = 0;
  std::vector<ConsumerRecord> records_;
};

std::string Row(std::string_view key) { return RowName(Table::kProgress, key); }

using Rows = std::map<std::string, std::string>;

TEST(Changelog, IsNamedAfterTheStage) {
  EXPECT_EQ(ChangelogTopic("eroica", "summarize"), "eroica.summarize-changelog");
}

TEST(Changelog, WritersAreReadAsTheyAreWritten) {
  EXPECT_EQ(EncodeWriter({3, 0xbeef}), "3.000000000000beef");
  EXPECT_EQ(DecodeWriter("3.000000000000beef"), (ChangelogWriter{3, 0xbeef}));
  for (const char* text : {"", "3", "3.", ".a", "0.a", "-1.a", "x.a", "3.g", "3.a.b"})
    EXPECT_EQ(DecodeWriter(text), std::nullopt) << text;
}

TEST(Changelog, RowsHoldOnceTheyAreCommitted) {
  Changelog log;
  log.Put(kFirst, "a", "1");
  EXPECT_EQ(log.Rows(), Rows());
  log.Commit(kFirst, {5, 7});
  EXPECT_EQ(log.Rows(), (Rows{{"a", "1"}}));
  log.Put(kFirst, "a", "2");
  log.Put(kFirst, "b", "");
  log.Commit(kFirst, {8, 9});
  log.Put(kFirst, "a", "3");
  EXPECT_EQ(log.Rows(), (Rows{{"a", "2"}, {"b", ""}}));
  EXPECT_EQ(log.Fold().position(), (TaskPosition{8, 9}));
  EXPECT_THAT(log.Fold().Uncommitted(), ElementsAre(Row("a")));
  log.Delete(kFirst, "a", 1);
  log.Commit(kFirst, {9, 9});
  EXPECT_EQ(log.Rows(), (Rows{{"b", ""}}));
}

TEST(Changelog, LargeRowsAreCutAndPutTogether) {
  Changelog log(1'000);
  std::string large;
  for (int i = 0; i < 5'000; ++i) large.push_back(static_cast<char>(i % 251));
  log.Put(kFirst, "row", large);
  log.Put(kFirst, "other", "x");
  log.Commit(kFirst, {0, 1});
  EXPECT_EQ(log.Rows(), (Rows{{"other", "x"}, {"row", large}}));
  const size_t of_large = log.records().size();
  log.Put(kFirst, "row", "small", large.size());  // what it had more is deleted
  log.Commit(kFirst, {0, 2});
  EXPECT_EQ(log.Rows(), (Rows{{"other", "x"}, {"row", "small"}}));
  EXPECT_GT(log.records().size(), of_large + 4);
  log.Put(kFirst, "row", large, 5);
  log.Delete(kFirst, "row", large.size());
  log.Commit(kFirst, {0, 3});
  EXPECT_EQ(log.Rows(), (Rows{{"other", "x"}}));
}

TEST(Changelog, ACompactedOneSaysTheSame) {
  Changelog log(1'000);
  const std::string large(3'000, 'x');
  for (int i = 0; i < 20; ++i) {
    log.Put(kFirst, "a", std::to_string(i), 1);
    log.Put(kFirst, "row", i % 2 == 0 ? large : "small", i % 2 == 0 ? 5 : 3'000);
    if (i == 7) log.Put(kFirst, "gone", "x");
    if (i == 9) log.Delete(kFirst, "gone", 1);
    log.Commit(kFirst, {i, i});
  }
  const Rows before = log.Rows();
  EXPECT_EQ(before, (Rows{{"a", "19"}, {"row", "small"}}));
  log.Compact(4);
  EXPECT_EQ(log.Rows(), before);
  log.Compact(0);
  EXPECT_EQ(log.Rows(), before);
  EXPECT_EQ(log.Fold().position(), (TaskPosition{19, 19}));
}

TEST(Changelog, WhatAnOwnerDidNotCommitIsForItsSuccessorToWriteAsItWas) {
  Changelog log;
  log.Put(kFirst, "a", "1");
  log.Commit(kFirst, {1, 1});
  log.Put(kFirst, "a", "not committed");
  log.Put(kFirst, "b", "not committed");
  EXPECT_THAT(log.Fold().Uncommitted(), ElementsAre(Row("a"), Row("b")));
  log.Put(kSecond, "c", "2");  // a successor that dies in its first commit
  EXPECT_THAT(log.Fold().Uncommitted(), ElementsAre(Row("a"), Row("b"), Row("c")));
  const ChangelogWriter third{3, 0xc};
  log.Put(third, "a", "1");
  log.Delete(third, "b", 0);
  log.Delete(third, "c", 0);
  log.Commit(third, {1, 1});
  EXPECT_THAT(log.Fold().Uncommitted(), IsEmpty());
  EXPECT_EQ(log.Rows(), (Rows{{"a", "1"}}));
  log.Compact(0);
  EXPECT_EQ(log.Rows(), (Rows{{"a", "1"}}));
}

TEST(Changelog, AFormerOwnerThatWakesUpIsNotHeard) {
  Changelog log;
  log.Put(kFirst, "a", "1");
  log.Commit(kFirst, {1, 1});
  log.Put(kSecond, "a", "2");
  log.Commit(kSecond, {2, 2});
  log.Put(kFirst, "a", "late");
  log.Commit(kFirst, {9, 9});
  log.Put({2, 0xc}, "a", "of another with the same epoch");
  EXPECT_EQ(log.Rows(), (Rows{{"a", "2"}}));
  EXPECT_EQ(log.Fold().position(), (TaskPosition{2, 2}));
  EXPECT_EQ(log.Fold().writer(), kSecond);
  EXPECT_EQ(log.Fold().ignored(), 3u);
}

TEST(Changelog, WhatIsNoneOfOursIsIgnored) {
  Changelog log;
  log.Put(kFirst, "a", "1");
  log.Commit(kFirst, {1, 1});
  const ConsumerRecord good = log.records()[0];
  ConsumerRecord bad = good;
  bad.headers.clear();
  log.records().push_back(bad);
  bad = good;
  bad.headers[0].second = "nonsense";
  log.records().push_back(bad);
  for (const std::string& key : {std::string(), std::string("r"), std::string("rx"),
                                 std::string("x"), std::string("r\0\0\3a", 5)}) {
    bad = good;
    bad.key = key;
    log.records().push_back(bad);
  }
  for (const std::string& value : {std::string("x"), std::string("\0\0x", 3)}) {
    bad = good;
    bad.value = value;
    log.records().push_back(bad);
  }
  bad = log.records()[1];
  bad.value = "no position";
  log.records().push_back(bad);
  EXPECT_EQ(log.Fold().ignored(), 10u);
  EXPECT_EQ(log.Rows(), (Rows{{"a", "1"}}));
}

TEST(Changelog, ARowOfWhichAChunkIsMissingIsLeftAsItWas) {
  Changelog log(1'000);
  log.Put(kFirst, "row", "before");
  log.Commit(kFirst, {1, 1});
  log.Put(kFirst, "row", std::string(5'000, 'x'), 6);
  log.Commit(kFirst, {2, 2});
  log.records().erase(log.records().begin() + 4);
  EXPECT_EQ(log.Rows(), (Rows{{"row", "before"}}));
  EXPECT_EQ(log.Fold().ignored(), 1u);
}

}  // namespace
}  // namespace eroica
