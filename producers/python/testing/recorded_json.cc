#include "producers/python/testing/recorded_json.h"

#include <nlohmann/json.hpp>
#include <string>

using eroica::recorded_core::Read;
using eroica::recorded_core::Recorded;
using nlohmann::json;

namespace {

json IntervalAsJson(const eroica::recorded_core::TakenInterval& interval) {
  return {{"start", interval.start_ns},
          {"end", interval.end_ns},
          {"function", interval.function},
          {"lane", interval.lane}};
}

json TablesAsJson(const Recorded& all) {
  json tables = {
      {"functions", json::array()}, {"lanes", json::array()}, {"communicators", json::array()}};
  for (const auto& row : all.functions) {
    const bool root = row.parent == EROICA_NO_PARENT;
    tables["functions"].push_back({{"name", row.name},
                                   {"class", row.function_class},
                                   {"wait", row.wait},
                                   {"parent", root ? json() : json(row.parent)}});
  }
  for (const auto& row : all.lanes)
    tables["lanes"].push_back({{"name", row.name}, {"kind", row.kind}});
  for (const auto& row : all.communicators) {
    tables["communicators"].push_back({{"id", row.id},
                                       {"name", row.name},
                                       {"size", row.size},
                                       {"ranks", row.ranks},
                                       {"library", row.library}});
  }
  return tables;
}

json OperationAsJson(const eroica::recorded_core::TakenOperation& row) {
  return {{"communicator", row.call.communicator},
          {"operation", row.call.operation},
          {"peer", row.call.peer},
          {"sequence", row.call.sequence},
          {"bytes", row.call.bytes},
          {"launched", row.launched_ns},
          {"ended", row.ended},
          {"dropped", row.dropped},
          {"interval", IntervalAsJson(row.interval)}};
}

}  // namespace

extern "C" {

const char* eroica_recorded_json() {
  static std::string text;
  const Recorded all = Read();
  json object = TablesAsJson(all);
  object["attached"] = all.attached;
  object["rank"] = all.rank;
  object["world_size"] = all.world_size;
  object["device"] = all.device;
  object["misuse"] = all.misuse;
  object["steps"] = all.steps;
  object["training_function"] =
      all.training_function == EROICA_NO_PARENT ? json() : json(all.training_function);
  for (const char* list : {"intervals", "operations", "marks"}) object[list] = json::array();
  for (const auto& row : all.intervals) object["intervals"].push_back(IntervalAsJson(row));
  for (const auto& row : all.operations) object["operations"].push_back(OperationAsJson(row));
  for (const auto& row : all.marks) {
    object["marks"].push_back({{"time", row.time_ns}, {"kind", row.kind}, {"id", row.id}});
  }
  text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.c_str();
}

void eroica_recorded_reset(bool enabled, int capture_level) {
  eroica::recorded_core::Reset(enabled, capture_level);
}
void eroica_recorded_full_trace(bool wanted) { eroica::recorded_core::SetWantsFullTrace(wanted); }

}  // extern "C"
