#include "ops/act/command_arguments.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

constexpr size_t kNameBytesMax = 256;

// Where an @ stands at the beginning, or behind a =, programs such as curl and gcc read the file
// that is named behind it.
bool NamesAFile(std::string_view name) {
  return name.starts_with('@') || name.find("=@") != std::string_view::npos;
}

// Names of jobs and hosts as schedulers give them: nothing that a shell, an option parser or a path
// treats specially, should the command pass it on.
bool IsPlainName(std::string_view name) {
  constexpr std::string_view kOthers = "._:@+=-/";
  const auto plain = [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kOthers.find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kNameBytesMax && name[0] != '-' && name[0] != '/' &&
         !NamesAFile(name) && name.find("..") == std::string_view::npos &&
         std::ranges::all_of(name, plain);
}

absl::Status Refused(std::string message) { return absl::FailedPreconditionError(message); }

absl::StatusOr<std::string> Plain(const char* what, const std::string& name) {
  if (IsPlainName(name)) return name;
  return Refused(name.empty() ? fmt::format("it names no {}", what)
                              : fmt::format("the name of its {}, \"{}\", is passed to no command",
                                            what, Printable(name)));
}

template <typename Items>
absl::Status RequireOne(const char* what, const Items& items) {
  if (items.size() == 1) return absl::OkStatus();
  return Refused(items.empty() ? fmt::format("it names no {}", what)
                               : fmt::format("it names {} {}s, not one", items.size(), what));
}

absl::StatusOr<std::string> Hosts(const Finding& finding, bool one) {
  const std::vector<std::string> hosts = CulpritHosts(finding);
  if (one) {
    if (absl::Status status = RequireOne("host", hosts); !status.ok()) return status;
  }
  if (hosts.empty()) return Refused("it names no host");
  for (const std::string& host : hosts) {
    if (const auto plain = Plain("host", host); !plain.ok()) return plain.status();
  }
  return fmt::format("{}", fmt::join(hosts, ","));
}

absl::StatusOr<std::string> Ranks(const Finding& finding, bool one) {
  const std::vector<int32_t> ranks = CulpritRanks(finding);
  if (one) {
    if (absl::Status status = RequireOne("rank", ranks); !status.ok()) return status;
  }
  if (ranks.empty()) return Refused("it names no rank");
  return fmt::format("{}", fmt::join(ranks, ","));
}

absl::StatusOr<std::string> ValueOf(std::string_view name, const Finding& finding) {
  if (name == "finding") return finding.id;
  if (name == "job") return Plain("job", finding.job.value);
  if (name == "kind") return std::string(ToString(finding.kind));
  if (name == "severity") return std::string(ToString(finding.severity));
  if (name == "rank") return Ranks(finding, true);
  if (name == "ranks") return Ranks(finding, false);
  if (name == "host") return Hosts(finding, true);
  if (name == "hosts") return Hosts(finding, false);
  const bool known = finding.culprits.size() == 1 && finding.culprits[0].device >= 0;
  if (!known) return Refused("it names no one device");
  return std::to_string(finding.culprits[0].device);
}

// Of "--rank={rank}" the text before, the name, and what is behind; false where there is none.
bool FindPlaceholder(const std::string& text, size_t from, size_t* open, size_t* close) {
  *open = text.find('{', from);
  if (*open == std::string::npos) return false;
  *close = text.find('}', *open);
  return *close != std::string::npos;
}

absl::StatusOr<std::string> Substituted(const std::string& argument, const Finding& finding) {
  std::string text;
  size_t from = 0, open = 0, close = 0;
  while (FindPlaceholder(argument, from, &open, &close)) {
    const absl::StatusOr<std::string> value =
        ValueOf(argument.substr(open + 1, close - open - 1), finding);
    if (!value.ok()) return value.status();
    text += argument.substr(from, open - from) + *value;
    from = close + 1;
  }
  return text + argument.substr(from);
}

}  // namespace

const std::vector<std::string>& PlaceholderNames() {
  static const std::vector<std::string> names = {"finding", "job",  "kind",  "severity", "rank",
                                                 "ranks",   "host", "hosts", "device"};
  return names;
}

std::vector<std::string> UnknownPlaceholders(const std::vector<std::string>& command) {
  std::vector<std::string> unknown;
  for (const std::string& argument : command) {
    size_t from = 0, open = 0, close = 0;
    for (; FindPlaceholder(argument, from, &open, &close); from = close + 1) {
      std::string name = argument.substr(open + 1, close - open - 1);
      if (std::ranges::find(PlaceholderNames(), name) == PlaceholderNames().end())
        unknown.push_back(std::move(name));
    }
  }
  return unknown;
}

absl::StatusOr<std::vector<std::string>> ArgumentsFor(const std::vector<std::string>& command,
                                                      const Finding& finding) {
  std::vector<std::string> arguments;
  for (const std::string& argument : command) {
    absl::StatusOr<std::string> text = Substituted(argument, finding);
    if (!text.ok()) return text.status();
    arguments.push_back(*std::move(text));
  }
  return arguments;
}

std::vector<std::pair<std::string, std::string>> EnvironmentFor(const Finding& finding) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string& name : PlaceholderNames()) {
    const absl::StatusOr<std::string> value = ValueOf(name, finding);
    if (value.ok()) variables.emplace_back("EROICA_" + absl::AsciiStrToUpper(name), *value);
  }
  variables.emplace_back("EROICA_TITLE", Printable(finding.title));
  return variables;
}

std::vector<int32_t> CulpritRanks(const Finding& finding) {
  std::vector<int32_t> ranks;
  for (const Culprit& culprit : finding.culprits) {
    if (culprit.rank >= 0 && std::ranges::find(ranks, culprit.rank) == ranks.end())
      ranks.push_back(culprit.rank);
  }
  return ranks;
}

std::vector<std::string> CulpritHosts(const Finding& finding) {
  std::vector<std::string> hosts;
  for (const Culprit& culprit : finding.culprits) {
    if (!culprit.host.empty() && std::ranges::find(hosts, culprit.host) == hosts.end())
      hosts.push_back(culprit.host);
  }
  return hosts;
}

}  // namespace eroica
