// Which files hold the traces, which rank each is of by its name, and where the flight-recorder
// dump of a rank lies.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace eroica {

struct TraceFiles {
  // sorted by name within a folder, numbers by value; in the order given between paths
  std::vector<std::filesystem::path> files;
  std::string folder_name;  // of the first file's folder
  uint64_t bytes = 0;
  bool dumps = false;  // all are flight-recorder dumps, without a trace
};

// Of a folder: every .json, .json.gz, .csv and .csv.gz file in it that is no flight-recorder dump;
// where there is none, its dumps. Which it is shows in how a file begins, whatever its name. A file
// given by name is taken as it is.
absl::StatusOr<TraceFiles> FindTraceFiles(std::span<const std::filesystem::path> paths);

bool IsOperationCsv(const std::filesystem::path& path);

// 3 of "rank3.json.gz", "trace_rank-3.json", "worker3_step_12.pt.trace.json.gz"; -1 where the name
// does not tell.
int64_t RankOfFileName(const std::filesystem::path& path);

// Of a dump: PyTorch puts the rank behind a name that the user chose, which may hold that of the
// host ("node7_12", "host-rank4_comm_lib_trace_rank_3"). Where the name has an ending
// (fr_rank3.json, dump_3.pkl), the last number behind "rank", else the one before the ending. -1
// where there is none.
int64_t RankOfDumpName(const std::filesystem::path& path);

// Of a dump's name: the last number behind "rank", wherever it stands; -1 where there is none.
int64_t RankBehindTheWord(const std::filesystem::path& path);

// Beside the trace (fr_rank3.json, .json.gz, .pkl, _dump_3,
// nccl_trace_rank_3, comm_lib_trace_rank_3), or in ../flight-recorder/FOLDER/.
// Empty where there is none.
std::filesystem::path FindFlightRecorderDump(const std::filesystem::path& trace, int64_t rank);

}  // namespace eroica
