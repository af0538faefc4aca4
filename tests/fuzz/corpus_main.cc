// The driver of a fuzz target where there is no libFuzzer: runs every file of the corpus, then
// seeded mutations of them, the same in every run. A target that brings a mutator of its own
// (libFuzzer's LLVMFuzzerCustomMutator) has three of four made by that. Usage:
//   TARGET [-runs=N] [-seed=N]
//     [-max_total_time=SECONDS] [-skip=N] [-timeout=SECONDS] [-artifact_prefix=PATH]
//     FILE_OR_FOLDER...
// Runs end by number, or by time, whichever comes first; 0: not by that.
//
// An input that ends the process, or that takes longer than -timeout (60) of processor time, is
// written to PATHcrash-SEED-RUN; -seed=SEED -skip=RUN -runs=RUN+1 runs it again.
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/mutation_count.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                                size_t max_size, unsigned int seed);

namespace {

using Input = std::vector<uint8_t>;

// Changes an input as damage or malice would: bits, bytes and words in place; stretches removed,
// repeated or taken from another input.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  Input Mutate(const std::vector<Input>& corpus) {
    Input input = corpus[Below(corpus.size())];
    if (LLVMFuzzerCustomMutator != nullptr && Below(4) != 0) {
      ++eroica::mutations_made;
      return ByTarget(std::move(input));
    }
    for (size_t changes = 1 + Below(6); changes > 0; --changes) {
      Change(corpus[Below(corpus.size())], &input);
      ++eroica::mutations_made;
    }
    return input;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  Input ByTarget(Input input) {
    const size_t size = std::min(input.size(), room_.size());
    std::copy_n(input.begin(), size, room_.begin());
    const size_t bytes = LLVMFuzzerCustomMutator(room_.data(), size, room_.size(),
                                                 static_cast<unsigned int>(random_()));
    input.assign(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(bytes));
    return input;
  }

  void Change(const Input& other, Input* input) {
    if (input->empty()) return input->push_back(static_cast<uint8_t>(random_()));
    const size_t at = Below(input->size());
    const size_t length = std::min(input->size() - at, 1 + Below(32));
    const auto begin = input->begin() + static_cast<std::ptrdiff_t>(at);
    switch (Below(7)) {
      case 0: (*input)[at] ^= static_cast<uint8_t>(1u << Below(8)); break;
      case 1: (*input)[at] = static_cast<uint8_t>(random_()); break;
      case 2: OverwriteWord(at, input); break;
      case 3: input->resize(at); break;
      case 4: input->erase(begin, begin + static_cast<std::ptrdiff_t>(length)); break;
      case 5: {
        const Input copy(begin, begin + static_cast<std::ptrdiff_t>(length));
        input->insert(input->begin() + static_cast<std::ptrdiff_t>(Below(input->size())),
                      copy.begin(), copy.end());
        break;
      }
      default:
        for (size_t i = 0; i < length && at + i < other.size(); ++i)
          (*input)[at + i] = other[at + i];
    }
  }

  // Four bytes of a number at which code breaks.
  void OverwriteWord(size_t at, Input* input) {
    static constexpr uint32_t kNumbers[] = {
        0, 1, 4, 0x7f, 0x80, 0xff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
    const uint32_t number = kNumbers[Below(std::size(kNumbers))];
    const size_t aligned = at & ~size_t{3};
    for (size_t i = 0; i < 4 && aligned + i < input->size(); ++i)
      (*input)[aligned + i] = static_cast<uint8_t>(number >> (8 * i));
  }

  std::mt19937_64 random_;
  Input room_ = Input(size_t{1} << 20);  // of the target's mutator
};

Input ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Sorted by name, because the order of a folder differs from machine to machine.
std::vector<Input> ReadCorpus(const std::vector<std::string>& arguments) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& argument : arguments) {
    if (!std::filesystem::is_directory(argument)) {
      paths.emplace_back(argument);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  for (const auto& path : paths) corpus.push_back(ReadFile(path));
  return corpus;
}

// The number behind "-runs=" and the like.
bool ParseOption(std::string_view argument, std::string_view prefix, uint64_t* value) {
  if (!argument.starts_with(prefix)) return false;
  argument.remove_prefix(prefix.size());
  return std::from_chars(argument.data(), argument.data() + argument.size(), *value).ec ==
         std::errc();
}

struct Options {
  uint64_t runs = 0;
  uint64_t seed = 1;
  uint64_t seconds = 0;
  uint64_t skip = 0;
  uint64_t timeout_s = 60;
  std::string artifact_prefix;
  std::vector<std::string> paths;
};

Options ParseOptions(int argc, char** argv) {
  constexpr std::string_view kPrefix = "-artifact_prefix=";
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kPrefix)) {
      options.artifact_prefix = argument.substr(kPrefix.size());
    } else if (!ParseOption(argument, "-runs=", &options.runs) &&
               !ParseOption(argument, "-seed=", &options.seed) &&
               !ParseOption(argument, "-max_total_time=", &options.seconds) &&
               !ParseOption(argument, "-skip=", &options.skip) &&
               !ParseOption(argument, "-timeout=", &options.timeout_s)) {
      options.paths.emplace_back(argument);
    }
  }
  return options;
}

// What is at hand when a signal ends the process.
struct AtHand {
  const Input* input = nullptr;
  char artifact[256] = "";
};
AtHand at_hand;

void WriteAll(int file, const void* bytes, size_t size) {
  if (::write(file, bytes, size) < 0) return;
}

extern "C" void OnDeath(int signal) {
  constexpr char kSays[] = "fuzz: a run ends the process, or takes too long; its input: ";
  WriteAll(STDERR_FILENO, kSays, sizeof(kSays) - 1);
  WriteAll(STDERR_FILENO, at_hand.artifact, std::strlen(at_hand.artifact));
  WriteAll(STDERR_FILENO, "\n", 1);
  const int file = ::open(at_hand.artifact, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && at_hand.input != nullptr)
    WriteAll(file, at_hand.input->data(), at_hand.input->size());
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void RunOne(const Input& input, const Options& options, const std::string& name) {
  at_hand.input = &input;
  std::snprintf(at_hand.artifact, sizeof(at_hand.artifact), "%scrash-%llu-%s",
                options.artifact_prefix.c_str(), static_cast<unsigned long long>(options.seed),
                name.c_str());
  // Of processor time: a busy machine makes nothing hang.
  const itimerval limit{.it_interval = {},
                        .it_value = {.tv_sec = static_cast<time_t>(options.timeout_s)}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

// So that a report of AddressSanitizer reaches OnDeath.
extern "C" const char* __asan_default_options() { return "abort_on_error=1:handle_abort=0"; }

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  const std::vector<Input> corpus = ReadCorpus(options.paths);
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus\n");
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF})
    ::signal(signal, OnDeath);
  const auto begun = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  if (options.skip == 0) {
    for (size_t i = 0; i < corpus.size(); ++i)
      RunOne(corpus[i], options, "corpus-" + std::to_string(i));
  }
  Mutator mutator(options.seed);
  uint64_t run = 0;
  for (; options.runs == 0 ? options.seconds > 0 : run < options.runs; ++run) {
    if (options.seconds > 0 && seconds() >= static_cast<double>(options.seconds)) break;
    const Input input = mutator.Mutate(corpus);
    if (run >= options.skip) RunOne(input, options, std::to_string(run));
  }
  std::printf("seed %llu: %zu inputs, %llu runs, %llu mutations, %.0f s\n",
              static_cast<unsigned long long>(options.seed), corpus.size(),
              static_cast<unsigned long long>(run),
              static_cast<unsigned long long>(eroica::mutations_made), seconds());
  return 0;
}
