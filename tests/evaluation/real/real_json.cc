#include "tests/evaluation/real/real_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/evaluation/score/scored_run.h"

namespace eroica {
namespace {

using nlohmann::ordered_json;

ordered_json ToJson(const OutcomeCounts& counts) {
  ordered_json json;
  for (size_t i = 0; i < counts.size(); ++i)
    json[std::string(ToString(static_cast<RealOutcome>(i)))] = counts[i];
  return json;
}

ordered_json ToJson(const RealRun& run) {
  ordered_json expected = ordered_json::array();
  for (const ExpectedFinding& one : run.expected) expected.push_back(Brief(one));
  ordered_json said = ordered_json::array();
  for (size_t i = 0; i < run.said.size(); ++i) {
    const Finding& finding = run.said[i].finding;
    said.push_back({{"finding", Brief(run.said[i])},
                    {"subkind", finding.subkind},
                    {"confidence", finding.confidence},
                    {"operator", finding.operator_name},
                    {"title", finding.title},
                    {"wrong", static_cast<bool>(run.verdict.wrong[i])}});
  }
  return {{"job", run.job},
          {"window", WindowName(run.variation.window_steps)},
          {"recorded", ColumnOf(run)},
          {"ranks", run.variation.ranks},
          {"healthy", run.healthy},
          {"outcome", ToString(run.verdict.outcome)},
          {"expected", std::move(expected)},
          {"said", std::move(said)},
          {"cannot_tell", run.said.empty() && run.gaps.undecided},
          {"left_open", run.gaps.sentences},
          {"wrong_suspects", run.verdict.wrong_suspects}};
}

}  // namespace

std::string RealJson(std::span<const RealRun> runs) {
  std::map<std::string, OutcomeCounts> counts;
  for (const RealRun& run : runs) ++counts[ColumnOf(run)][static_cast<size_t>(run.verdict.outcome)];
  ordered_json totals = ordered_json::object();
  for (const std::string& column : RealColumns()) totals[column] = ToJson(counts[column]);
  ordered_json json = {{"totals", std::move(totals)}, {"runs", ordered_json::array()}};
  for (const RealRun& run : runs) json["runs"].push_back(ToJson(run));
  // A name from a trace may be no UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace eroica
