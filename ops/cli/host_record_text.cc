#include "ops/cli/host_record_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

std::string Counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string HostRecordText(const HostRecord& record) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : record.kinds)
    kinds.push_back(fmt::format("{} {}", count, ToString(kind)));
  std::vector<std::string> jobs;
  for (const auto& [job, count] : record.findings_of)
    jobs.push_back(fmt::format("{} ({})", Printable(job), count));
  std::string text =
      fmt::format("{}{}: {} in {}, {} open: {}", record.recurring() ? "RECURRING " : "",
                  Printable(record.host), Counted(record.findings(), "finding"),
                  Counted(record.findings_of.size(), "job"), record.open, fmt::join(kinds, ", "));
  if (!record.devices.empty()) text += fmt::format("; device {}", fmt::join(record.devices, ", "));
  text += fmt::format("; at worst the work of {:.3g} ranks lost\n",
                      record.worst_gpu_seconds_per_hour / 3'600);
  return text + fmt::format("  jobs: {}\n", fmt::join(jobs, ", "));
}

std::string HostRecordJson(const HostRecord& record) {
  nlohmann::ordered_json json;
  json["host"] = record.host;
  json["recurring"] = record.recurring();
  json["findings"] = record.findings();
  json["open"] = record.open;
  json["worst_gpu_seconds_per_hour"] = record.worst_gpu_seconds_per_hour;
  json["devices"] = record.devices;
  for (const auto& [kind, count] : record.kinds) json["kinds"][std::string(ToString(kind))] = count;
  for (const auto& [job, count] : record.findings_of) json["jobs"][job] = count;
  return PrintableJson(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace eroica
