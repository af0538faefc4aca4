#include "tests/fuzz/folder_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace eroica {
namespace {

using Json = nlohmann::json;

constexpr int64_t kStepUs = 10'000;

enum class Collectives { kStated, kLaunched, kHost, kPairs, kNone };

// What all ranks of a job have in common.
struct Job {
  explicit Job(FuzzChoices& choices)
      : ranks(choices.OneIn(8) ? 8 : 1 + choices.Below(4)),
        world(choices.OneIn(3) ? ranks + choices.Below(6) : ranks),
        steps(choices.OneIn(6) ? choices.Below(40) : choices.Below(10)),
        slow_rank(choices.Below(ranks + 1)),
        late_us(static_cast<int64_t>(choices.Below(30'000))),
        collectives(static_cast<Collectives>(choices.Below(5))),
        whole(choices.OneIn(3)),
        frames(choices.OneIn(3)),
        states_world(!choices.OneIn(3)),
        lists_groups(choices.OneIn(2)),
        step_category(choices.OneIn(5) ? "cpu_op" : "user_annotation") {}

  Json Members() const {
    Json members = Json::array();
    for (size_t rank = 0; rank < world; ++rank) members.push_back(rank);
    return members;
  }

  size_t ranks;
  size_t world;
  size_t steps;
  size_t slow_rank;  // none where it is `ranks`
  int64_t late_us;
  Collectives collectives;
  bool whole;
  bool frames;
  bool states_world;
  bool lists_groups;
  const char* step_category;
};

// The events of one rank, in order.
class RankEvents {
 public:
  RankEvents(const Job& job, size_t rank, FuzzChoices& choices)
      : job_(job), rank_(rank), choices_(choices) {}

  Json Make() {
    events_.push_back({{"ph", "M"},
                       {"name", "thread_name"},
                       {"pid", Process()},
                       {"tid", Process()},
                       {"args", {{"name", "python main"}}}});
    for (size_t step = 0; step < job_.steps; ++step) Step(step);
    if (job_.steps == 0) Work(0, 0);
    return std::move(events_);
  }

 private:
  int64_t Process() const { return 100 + static_cast<int64_t>(rank_); }
  Json Time(int64_t us) const {
    return job_.whole ? Json(us) : Json(static_cast<double>(us) + 0.125);
  }

  void Add(const char* category, const std::string& name, int64_t start_us, int64_t length_us,
           Json args = Json::object(), bool device = false) {
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"pid", device ? Json(rank_) : Json(Process())},
                       {"tid", device ? Json(7) : Json(Process())},
                       {"ts", Time(start_us)},
                       {"dur", Time(length_us)},
                       {"args", std::move(args)}});
  }

  void Step(size_t step) {
    const int64_t at = static_cast<int64_t>(step) * (kStepUs + job_.late_us);
    Add(job_.step_category, fmt::format("ProfilerStep#{}", step), at, kStepUs + job_.late_us);
    Work(at, step);
    if (choices_.OneIn(4)) Add("user_annotation", "Optimizer.step#AdamW.step", at + 9'000, 400);
    if (choices_.OneIn(4))
      Add("user_annotation", "enumerate(DataLoader)#_SingleProcess.__next__", at + 5, 90);
  }

  void Work(int64_t at, size_t step) {
    const int64_t late = rank_ == job_.slow_rank ? job_.late_us : 0;
    if (job_.frames) {
      const int64_t id = 4 * static_cast<int64_t>(step) + 1;
      Add("python_function", "train.py(10): main", at + 1, kStepUs - 10 + late,
          {{"Python id", id}, {"Python module id", 0}});
      Add("python_function", "train.py(20): load", at + 2, 500 + late,
          {{"Python id", id + 1}, {"Python parent id", id}});
    }
    const int64_t correlation = 100 + 4 * static_cast<int64_t>(step);
    Add("cpu_op", "aten::mm", at + 20 + late, 90, {{"External id", correlation}});
    Add("cuda_runtime", "cudaLaunchKernel", at + 30 + late, 8, {{"correlation", correlation}});
    Add("kernel", "sm90_xmma_gemm_bf16", at + 50 + late, 4'000,
        {{"correlation", correlation}, {"device", rank_}, {"stream", 7}}, true);
    if (choices_.OneIn(3))
      Add("gpu_memcpy", "Memcpy HtoD", at + 4'060 + late, 100, {{"stream", 7}}, true);
    Exchange(at, late, correlation + 1, step);
  }

  void Exchange(int64_t at, int64_t late, int64_t correlation, size_t step) {
    const int64_t begin = at + 5'000 + late;
    const int64_t length = 1'000 + (job_.late_us - late);
    Json args{{"External id", correlation}, {"correlation", correlation}};
    if (job_.collectives == Collectives::kStated || job_.collectives == Collectives::kPairs) {
      const bool pair = job_.collectives == Collectives::kPairs;
      const size_t other = rank_ ^ 1;
      args.update({{"Collective name", !pair            ? "allreduce"
                                       : rank_ % 2 == 0 ? "send"
                                                        : "recv"},
                   {"In msg nelems", 1'024},
                   {"Out msg nelems", 1'024},
                   {"Group size", job_.world},
                   {"dtype", "BFloat16"},
                   {"Process Group Name", "0"},
                   {"Process Group Description", "default_pg"},
                   {"Process Group Ranks", job_.Members().dump()}});
      if (pair) args[rank_ % 2 == 0 ? "Dst Rank" : "Src Rank"] = other;
      if (choices_.OneIn(4)) args["Seq"] = step;
      Add("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL()", begin, length, args, true);
    } else if (job_.collectives == Collectives::kLaunched) {
      Json dims{{"Input Dims", {{32, 32}}}, {"Input type", {"float"}}, {"External id", 7}};
      Add("cpu_op", "c10d::allreduce_", at + 4'500, 60, dims);
      Add("user_annotation", "nccl:all_reduce", at + 4'510, 40, dims);
      Add("cuda_runtime", "cudaLaunchKernelExC", at + 4'520, 5, {{"correlation", correlation}});
      Add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", begin, length, args, true);
    } else if (job_.collectives == Collectives::kHost) {
      Json dims{{"Input Dims", {{32, 32}}}, {"Input type", {"float"}}};
      Add("cpu_op", "c10d::allreduce_", at + 4'500, 60, dims);
      Add("user_annotation", "gloo:all_reduce", begin, length, dims);
    }
  }

  const Job& job_;
  const size_t rank_;
  FuzzChoices& choices_;
  Json events_ = Json::array();
};

Json Header(const Job& job, size_t rank) {
  Json header{{"schemaVersion", 1},
              {"deviceProperties", Json::array()},
              {"baseTimeNanoseconds", 1'790'000'000'000'000'000},
              {"displayTimeUnit", "ms"}};
  if (!job.states_world) return header;
  Json info{{"backend", "nccl"}, {"rank", rank}, {"world_size", job.world}};
  if (job.lists_groups) {
    info["pg_config"] = {{{"pg_name", "0"},
                          {"pg_desc", "default_pg"},
                          {"pg_size", job.world},
                          {"ranks", job.Members()}},
                         {{"pg_name", fmt::format("{}", 1 + rank / 2)},
                          {"pg_desc", "mesh_pp"},
                          {"pg_size", 2},
                          {"ranks", {rank & ~size_t{1}, rank | 1}}}};
  }
  header["distributedInfo"] = std::move(info);
  return header;
}

std::string TcpInfoText(const Job& job, size_t rank, FuzzChoices& choices) {
  std::string text = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n";
  for (size_t peer = 0; peer < job.ranks; ++peer) {
    if (peer == rank) continue;
    text += fmt::format(
        "ESTAB 0 0 10.0.0.{}:{} 10.0.0.{}:{}\n"
        "\t cubic wscale:7,7 rto:204 bytes_acked:{} busy:{}ms retrans:0/{} delivered:12\n",
        rank + 1, 5'000 + peer, peer + 1, 5'000 + rank, choices.Below(1 << 30),
        choices.Below(4'000), choices.Below(20));
  }
  return text;
}

Json DumpEntry(const Job& job, size_t rank, int64_t number, bool last, FuzzChoices& choices) {
  const bool pair = job.collectives == Collectives::kPairs;
  const size_t other = rank ^ 1;
  const std::string name = !pair           ? std::string("nccl:all_reduce")
                           : rank % 2 == 0 ? fmt::format("nccl:send {}->{}", rank, other)
                                           : fmt::format("nccl:recv {}<-{}", rank, other);
  const bool ended = !last && !choices.OneIn(8);
  return {{"record_id", number},
          {"pg_id", 0},
          {"process_group", {"0", "default_pg"}},
          {"collective_seq_id", pair ? 0 : number + 1},
          {"p2p_seq_id", pair ? number + 1 : 0},
          {"op_id", number + 1},
          {"profiling_name", name},
          {"time_created_ns", 1'790'000'000'000'000'000 + number * 1'000'000},
          {"input_sizes", {{32, 32}}},
          {"input_dtypes", {"BFloat16"}},
          {"state", ended              ? "completed"
                    : choices.OneIn(2) ? "started"
                                       : "scheduled"},
          {"retired", ended},
          {"is_p2p", pair}};
}

std::string DumpName(size_t rank, bool pickle, FuzzChoices& choices) {
  if (!pickle) return fmt::format("fr_rank{}.json{}", rank, choices.OneIn(4) ? ".gz" : "");
  static constexpr const char* kNames[] = {"_dump_{}", "nccl_trace_rank_{}", "fr_rank{}.pkl",
                                           "comm_lib_trace_rank_{}"};
  return fmt::format(fmt::runtime(choices.Of(kNames)), rank);
}

void AddDumps(const Job& job, FuzzChoices& choices, FuzzFolder* folder) {
  const bool pickle = choices.OneIn(2);
  for (size_t rank = 0; rank < job.ranks; ++rank) {
    // The slow rank never launched the last one.
    const size_t count = job.steps + (rank == job.slow_rank ? 0 : 1);
    Json entries = Json::array();
    for (size_t i = 0; i < count; ++i) {
      entries.push_back(DumpEntry(job, rank, static_cast<int64_t>(i),
                                  i == job.steps && rank != job.slow_rank, choices));
    }
    const Json dump{{"version", "2.10"},
                    {"pg_config",
                     {{"0",
                       {{"name", choices.OneIn(8) ? "" : "0"},
                        {"desc", "default_pg"},
                        {"ranks", job.Members().dump()}}}}},
                    {"entries", std::move(entries)}};
    const std::string text = dump.dump();
    (*folder)[DumpName(rank, pickle, choices)] = pickle ? PickleOfJson(text) : text;
  }
}

}  // namespace

FuzzFolder FolderOfTraces(FuzzChoices& choices) {
  const Job job(choices);
  const bool compressed = choices.OneIn(4);
  const bool bare = choices.OneIn(10);  // a list of events, as torch_npu writes it
  FuzzFolder folder;
  for (size_t rank = 0; rank < job.ranks; ++rank) {
    Json events = RankEvents(job, rank, choices).Make();
    Json trace;
    if (bare) {
      trace = std::move(events);
    } else {
      trace = Header(job, rank);
      trace["traceEvents"] = std::move(events);
    }
    folder[fmt::format("rank{}.json{}", rank, compressed ? ".gz" : "")] = trace.dump();
    if (choices.OneIn(6))
      folder[fmt::format("ss_rank{}.txt", rank)] = TcpInfoText(job, rank, choices);
  }
  if (choices.OneIn(6)) AddDumps(job, choices, &folder);
  return folder;
}

FuzzFolder FolderOfDumps(FuzzChoices& choices) {
  FuzzFolder folder;
  AddDumps(Job(choices), choices, &folder);
  return folder;
}

FuzzFolder FolderOfTables(FuzzChoices& choices) {
  static constexpr const char* kOperations[] = {"forward-compute", "backward-compute",
                                                "forward-send",    "forward-recv",
                                                "backward-send",   "grads-reduce-scatter",
                                                "optimizer",       "params-all-gather",
                                                "backward-recv",   "embedding-grads-all-reduce",
                                                "batch-generator", "optimizer-clip-main-grad"};
  const size_t replicas = 1 + choices.Below(3);
  const size_t stages = 1 + choices.Below(3);
  std::string table = "dp_rank,stage,rank,step,optype,start_ts,duration\n";
  const size_t rows = choices.Below(120);
  for (size_t row = 0; row < rows; ++row) {
    const size_t rank = choices.Below(replicas * stages);
    table += fmt::format("{},{},{},{},{},{}.{:03},{}.{:03}\n", rank / stages, rank % stages, rank,
                         row / 20, choices.Of(kOperations), 0, choices.Below(900), 0,
                         choices.Below(400));
  }
  return {{choices.OneIn(4) ? "operations.csv.gz" : "operations.csv", std::move(table)}};
}

FuzzFolder SomeFolder(FuzzChoices& choices) {
  FuzzFolder folder;
  const size_t kind = choices.Below(8);
  if (kind < 5 || kind == 7) folder.merge(FolderOfTraces(choices));
  if (kind == 5 || kind == 7) folder.merge(FolderOfDumps(choices));
  if (kind == 6 || (kind == 7 && choices.OneIn(2))) folder.merge(FolderOfTables(choices));
  return folder;
}

}  // namespace eroica
