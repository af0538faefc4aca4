// The importer on hostile files: traces, CSVs and flight-recorder dumps, told apart by their first
// byte. Whatever comes out must be batches that the codec takes and gives back unchanged, and the
// books must close.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "producers/import/chrome_trace_importer.h"
#include "producers/import/collective_matcher.h"
#include "producers/import/flight_recorder_dump.h"
#include "producers/import/operation_csv_importer.h"
#include "producers/import/rank_identity.h"
#include "producers/import/rank_trace_writer.h"
#include "schemas/check.h"
#include "schemas/codec.h"
#include "schemas/test_encoder.h"

namespace eroica {
namespace {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view content) : content_(content) {}
  size_t Read(char* out, size_t size) override {
    const size_t read = std::min(size, content_.size() - file_bytes_read_);
    std::memcpy(out, content_.data() + file_bytes_read_, read);
    file_bytes_read_ += read;
    return read;
  }

 private:
  std::string_view content_;
};

class CodecSink final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    EventBatch decoded;
    EROICA_CHECK(decoder_.Decode(encoder_.Encode(batch), &decoded) == DropReason::kNone);
    EROICA_CHECK(decoded.intervals.start_ns == batch.intervals.start_ns);
    EROICA_CHECK(decoded.intervals.duration_ns == batch.intervals.duration_ns);
    EROICA_CHECK(decoded.functions == batch.functions);
    EROICA_CHECK(decoded.collectives == batch.collectives);
    EROICA_CHECK(decoded.marks == batch.marks);
    return absl::OkStatus();
  }

 private:
  TestEncoder encoder_;
  Decoder decoder_;
};

void WriteAll(TraceFunctions& functions, const std::vector<RankTrace*>& traces,
              std::vector<FileReport>& files) {
  const absl::StatusOr<std::vector<RankTrace*>> ranks = SettleRanks(traces, files);
  if (!ranks.ok()) return;
  const absl::StatusOr<SettledWorld> settled = SettleWorld(*ranks, files);
  if (!settled.ok()) return;
  const JobId job{"fuzz"};
  ImportReport report;
  CodecSink sink;
  const MatchReport matches = MatchCollectives(job, settled->world, *ranks);
  for (RankTrace* trace : *ranks) {
    ProducerIdentity identity;
    identity.job = job;
    identity.rank = *settled->world.Rank(trace->rank);
    identity.world_size = settled->world.size();
    EROICA_CHECK(
        WriteRankTrace(functions, *trace, identity, files[trace->file].counts, report, sink).ok());
  }
  for (const FileReport& file : files) EROICA_CHECK(file.counts.closed());
  EROICA_CHECK(matches.warnings.size() < 1'000'000);
}

// As the trace of two ranks, so that there is something to match.
void ImportTrace(std::string_view content) {
  SortBudget budget;
  TraceFunctions functions({.names = 64, .name_bytes = 1 << 16, .functions = 256});
  std::vector<FileReport> files(2);
  std::vector<std::unique_ptr<RankTrace>> owned;
  std::vector<RankTrace*> traces;
  for (size_t i = 0; i < 2; ++i) {
    owned.push_back(std::make_unique<RankTrace>(budget));
    RankTrace& trace = *owned.back();
    trace.file = i;
    files[i].path = i == 0 ? "rank0.json" : "rank1.json";
    MemorySource source(content);
    ChromeTraceImporter importer(functions, trace, files[i], /*python_stacks=*/i == 0);
    EROICA_CHECK(importer.Import(source, [](uint64_t) {}).ok());
    if (files[i].refused) return;
    if (i == 1 && trace.rank >= 0) ++trace.rank;
    importer.Finish({});
    traces.push_back(&trace);
  }
  WriteAll(functions, traces, files);
}

void ImportCsv(std::string_view content) {
  SortBudget budget;
  TraceFunctions functions;
  std::vector<FileReport> files(1);
  std::vector<std::unique_ptr<RankTrace>> owned;
  const auto open = [content]() -> absl::StatusOr<std::unique_ptr<ByteSource>> {
    return std::make_unique<MemorySource>(content);
  };
  OperationCsvImporter importer(functions, budget, files[0]);
  EROICA_CHECK(importer
                   .Import(
                       open, [](uint64_t) {}, &owned)
                   .ok());
  std::vector<RankTrace*> traces;
  for (const std::unique_ptr<RankTrace>& trace : owned) traces.push_back(trace.get());
  if (!traces.empty()) WriteAll(functions, traces, files);
}

}  // namespace
}  // namespace eroica

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  if (content.empty()) return 0;
  if (content.front() == 'd') {
    eroica::ImportCsv(content);
  } else if (content.front() == '\x80') {
    static_cast<void>(eroica::ParseFlightRecorderDump(content).ok());
  } else {
    eroica::ImportTrace(content);
    static_cast<void>(eroica::ParseFlightRecorderDump(content).ok());
  }
  return 0;
}
