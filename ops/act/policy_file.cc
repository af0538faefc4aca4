#include "ops/act/policy_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "ops/act/command_arguments.h"
#include "ops/config/nearest_name.h"
#include "ops/config/text_file.h"
#include "ops/config/toml_problem.h"

namespace eroica {
namespace {

constexpr int64_t kWindowsMax = 64;
constexpr int64_t kWeekSeconds = 7 * 24 * 3'600;
constexpr int64_t kTimeoutMax = 240;  // a member of a consumer group must be heard of

// One table of the file: each key that is taken is checked; those that nobody took are unknown.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string where, std::vector<std::string>* problems,
              const std::string& file)
      : table_(table), where_(std::move(where)), problems_(problems), file_(file) {}

  std::string Text(const char* key, std::string value, bool required = false) {
    const toml::node* node = Take(key, required);
    if (node == nullptr) return value;
    if (const auto* text = node->as_string(); text != nullptr && !text->get().empty())
      return text->get();
    Problem(node->source(), fmt::format("{}.{} must be a text", where_, key));
    return value;
  }
  int64_t Whole(const char* key, int64_t value, int64_t min, int64_t max) {
    const toml::node* node = Take(key);
    if (node == nullptr) return value;
    if (const auto* number = node->as_integer();
        number != nullptr && number->get() >= min && number->get() <= max)
      return number->get();
    Problem(node->source(),
            fmt::format("{}.{} must be a whole number from {} to {}", where_, key, min, max));
    return value;
  }
  double Number(const char* key, double value, double min, double max) {
    const toml::node* node = Take(key);
    if (node == nullptr) return value;
    const std::optional<double> number = node->value<double>();
    if (number && node->is_number() && *number >= min && *number <= max) return *number;
    Problem(node->source(), fmt::format("{}.{} must be {} to {}", where_, key, min, max));
    return value;
  }
  bool Flag(const char* key) {
    const toml::node* node = Take(key);
    if (node == nullptr) return false;
    if (const auto* flag = node->as_boolean()) return flag->get();
    Problem(node->source(), fmt::format("{}.{} must be true or false", where_, key));
    return false;
  }
  std::vector<std::string> Texts(const char* key, bool required = false) {
    const toml::node* node = Take(key, required);
    if (node == nullptr) return {};
    std::vector<std::string> texts;
    if (const auto* array = node->as_array()) {
      for (const toml::node& item : *array) {
        if (item.is_string()) texts.push_back(item.as_string()->get());
      }
      if (texts.size() == array->size() && !texts.empty()) return texts;
    }
    Problem(node->source(), fmt::format("{}.{} must be a list of texts", where_, key));
    return {};
  }
  // One of the names; its number.
  int OneOf(const char* key, int value, const std::vector<std::string>& names,
            bool required = false) {
    const toml::node* node = Take(key, required);
    if (node == nullptr) return value;
    const auto* text = node->as_string();
    const auto found = std::ranges::find(names, text == nullptr ? "" : text->get());
    if (found != names.end()) return static_cast<int>(found - names.begin());
    NotOneOf(*node, key, text == nullptr ? "" : text->get(), names);
    return value;
  }
  const toml::node* Take(const char* key, bool required = false) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr && required)
      Problem(table_.source(), fmt::format("{} needs {}", where_, key));
    return node;
  }
  void NotOneOf(const toml::node& node, const char* key, const std::string& text,
                const std::vector<std::string>& names) {
    const std::string nearest = NearestName(text, names);
    Problem(node.source(),
            fmt::format("{}.{} is '{}', but must be one of {}{}", where_, key, text,
                        fmt::join(names, ", "),
                        nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  }
  void Problem(const toml::source_region& region, const std::string& message) {
    problems_->push_back(fmt::format("{}:{}: {}", file_, region.begin.line, message));
  }
  // After all others.
  void RefuseOthers() {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::ranges::find(known_, name) != known_.end()) continue;
      const std::string nearest = NearestName(name, known_);
      Problem(key.source(), nearest.empty()
                                ? fmt::format("unknown key '{}' of {}: {} are known", name, where_,
                                              fmt::join(known_, ", "))
                                : fmt::format("unknown key '{}' of {}; did you mean '{}'?", name,
                                              where_, nearest));
    }
  }
  const toml::source_region& source() const { return table_.source(); }

 private:
  const toml::table& table_;
  const std::string where_;
  std::vector<std::string>* const problems_;
  const std::string& file_;
  std::vector<std::string> known_;
};

template <typename Enum>
std::vector<std::string> NamesOf(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(ToString(static_cast<Enum>(i)));
  return names;
}

class PolicyReader {
 public:
  explicit PolicyReader(std::string file) : file_(std::move(file)) {}

  absl::StatusOr<Policy> Read(const toml::table& table) {
    TableReader root(table, "the policy", &problems_, file_);
    ReadLimits(root);
    ReadEach(root, "action", [this](TableReader& action) { ReadAction(action); });
    ReadEach(root, "rule", [this](TableReader& rule) { ReadRule(rule); });
    root.RefuseOthers();
    if (policy_.rules.empty() && problems_.empty())
      root.Problem(table.source(), "there is no [[rule]] in it: nothing would ever be done");
    if (problems_.empty()) return std::move(policy_);
    return absl::InvalidArgumentError(fmt::format("{}", fmt::join(problems_, "\n")));
  }

 private:
  void ReadLimits(TableReader& root) {
    const toml::node* node = root.Take("limits");
    if (node == nullptr) return;
    if (!node->is_table()) {
      root.Problem(node->source(), "limits must be a table, [limits]");
      return;
    }
    TableReader limits(*node->as_table(), "limits", &problems_, file_);
    PolicyLimits& read = policy_.limits;
    read.per_hour = limits.Whole("per_hour", read.per_hour, 0, 10'000);
    read.per_job_hour = limits.Whole("per_job_hour", read.per_job_hour, 0, 10'000);
    read.per_host_hour = limits.Whole("per_host_hour", read.per_host_hour, 0, 10'000);
    read.cool_down =
        std::chrono::seconds(limits.Whole("cool_down_s", read.cool_down.count(), 0, kWeekSeconds));
    read.age = std::chrono::seconds(limits.Whole("age_s", read.age.count(), 1, kWeekSeconds));
    read.executables = limits.Texts("executables");
    for (const std::string& path : read.executables) {
      if (!path.starts_with('/'))
        limits.Problem(limits.source(),
                       fmt::format("limits.executables: '{}' is no absolute path", path));
    }
    limits.RefuseOthers();
  }

  // [[name]], each a table.
  void ReadEach(TableReader& root, const char* name,
                const std::function<void(TableReader&)>& read) {
    const toml::node* node = root.Take(name);
    if (node == nullptr) return;
    if (!node->is_array_of_tables()) {
      root.Problem(node->source(), fmt::format("{0} must be a list of tables, [[{0}]]", name));
      return;
    }
    for (const toml::node& item : *node->as_array()) {
      TableReader reader(*item.as_table(), name, &problems_, file_);
      read(reader);
      reader.RefuseOthers();
    }
  }

  void ReadAction(TableReader& reader) {
    PolicyAction action;
    action.name = reader.Text("name", "", true);
    action.kind = static_cast<ActionKind>(
        reader.OneOf("does", 0, NamesOf<ActionKind>(kActionKindCount), true));
    action.command = reader.Texts("command", true);
    action.timeout =
        std::chrono::seconds(reader.Whole("timeout_s", action.timeout.count(), 1, kTimeoutMax));
    const std::vector<std::string>& allowed = policy_.limits.executables;
    if (!action.command.empty() &&
        std::ranges::find(allowed, action.command.front()) == allowed.end())
      reader.Problem(reader.source(),
                     fmt::format("action.command begins with '{}', which is not in "
                                 "limits.executables",
                                 action.command.front()));
    for (const std::string& name : UnknownPlaceholders(action.command)) {
      const std::string nearest = NearestName(name, PlaceholderNames());
      reader.Problem(reader.source(),
                     fmt::format("action.command: there is no {{{}}}; {}", name,
                                 nearest.empty() ? fmt::format("{} are known",
                                                               fmt::join(PlaceholderNames(), ", "))
                                                 : fmt::format("did you mean {{{}}}?", nearest)));
    }
    if (policy_.FindAction(action.name) != nullptr)
      reader.Problem(reader.source(), fmt::format("there are two actions '{}'", action.name));
    policy_.actions.push_back(std::move(action));
  }

  void ReadRule(TableReader& reader) {
    PolicyRule rule;
    rule.name = reader.Text("name", "", true);
    std::vector<std::string> actions;
    for (const PolicyAction& action : policy_.actions) actions.push_back(action.name);
    if (const int action = reader.OneOf("action", -1, actions, true); action >= 0)
      rule.action = actions[static_cast<size_t>(action)];
    ReadKinds(reader, &rule);
    rule.subkind = reader.Text("subkind", "");
    rule.job = reader.Text("job", rule.job);
    rule.severity = static_cast<Severity>(reader.OneOf("severity", static_cast<int>(rule.severity),
                                                       NamesOf<Severity>(kSeverityCount)));
    rule.confidence = reader.Number("confidence", rule.confidence, 0, 1);
    rule.lost_share = reader.Number("lost_share", 0, 0, 1);
    rule.lost_ms_per_step = reader.Number("lost_ms_per_step", 0, 0, 1e9);
    rule.lasting = reader.Whole("lasting", rule.lasting, 1, kWindowsMax);
    ReadQuorum(reader, &rule);
    rule.undecided = reader.Flag("undecided");
    rule.groups = reader.Flag("groups");
    if (std::ranges::find(policy_.rules, rule.name, &PolicyRule::name) != policy_.rules.end())
      reader.Problem(reader.source(), fmt::format("there are two rules '{}'", rule.name));
    policy_.rules.push_back(std::move(rule));
  }

  static void ReadKinds(TableReader& reader, PolicyRule* rule) {
    const std::vector<std::string> names = NamesOf<FindingKind>(kFindingKindCount);
    const toml::node* node = reader.Take("kind");
    if (node == nullptr) return;
    toml::array one;
    const toml::array* kinds = node->as_array();
    if (const auto* text = node->as_string()) {
      one.push_back(text->get());
      kinds = &one;
    }
    if (kinds == nullptr || kinds->empty()) {
      reader.Problem(node->source(), "rule.kind must be a kind of finding, or a list of them");
      return;
    }
    for (const toml::node& item : *kinds) {
      const std::string name = item.value<std::string>().value_or("");
      const auto found = std::ranges::find(names, name);
      if (found == names.end()) {
        reader.NotOneOf(*node, "kind", name, names);
      } else {
        rule->kinds.push_back(static_cast<FindingKind>(found - names.begin()));
      }
    }
  }

  // quorum = [N, M]: in N of the newest M windows.
  static void ReadQuorum(TableReader& reader, PolicyRule* rule) {
    const toml::node* node = reader.Take("quorum");
    if (node == nullptr) return;
    const toml::array* pair = node->as_array();
    if (pair != nullptr && pair->size() == 2 && pair->get(0)->is_integer() &&
        pair->get(1)->is_integer()) {
      rule->quorum_windows = pair->get(0)->as_integer()->get();
      rule->quorum_of = pair->get(1)->as_integer()->get();
      if (rule->quorum_windows >= 1 && rule->quorum_windows <= rule->quorum_of &&
          rule->quorum_of <= kWindowsMax)
        return;
    }
    reader.Problem(node->source(),
                   fmt::format("rule.quorum must be [N, M]: in N of the newest M windows, 1 <= N "
                               "<= M <= {}",
                               kWindowsMax));
  }

  const std::string file_;
  std::vector<std::string> problems_;
  Policy policy_;
};

}  // namespace

absl::StatusOr<Policy> ReadPolicyText(std::string_view text, const std::string& name) {
  try {
    const toml::table table = toml::parse(text);
    return PolicyReader(name).Read(table);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(fmt::format(
        "{}:{}: no TOML: {}", name, error.source().begin.line, TomlProblem(error.description())));
  }
}

absl::StatusOr<Policy> ReadPolicyFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) return text.status();
  return ReadPolicyText(*text, path);
}

}  // namespace eroica
