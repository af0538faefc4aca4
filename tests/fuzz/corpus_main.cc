// The driver of a fuzz target where there is no libFuzzer: runs every file of the corpus, then
// seeded mutations of them, the same in every run. A target that brings a mutator of its own
// (libFuzzer's LLVMFuzzerCustomMutator) has three of four made by that.
//   TARGET [-runs=N] [-seconds=N] [-seed=N] FILE_OR_FOLDER...
// At least so many mutations, and for at least so long.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    if (LLVMFuzzerCustomMutator != nullptr && Below(4) != 0) return ByTarget(std::move(input));
    for (size_t changes = 1 + Below(6); changes > 0; --changes)
      Change(corpus[Below(corpus.size())], &input);
    return input;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  Input ByTarget(Input input) {
    constexpr size_t kBytesMax = 65'536;
    const size_t size = std::min(input.size(), kBytesMax);
    input.resize(kBytesMax);
    input.resize(LLVMFuzzerCustomMutator(input.data(), size, kBytesMax,
                                         static_cast<unsigned int>(random_())));
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

}  // namespace

int main(int argc, char** argv) {
  uint64_t runs = 0, seconds = 0, seed = 1;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (!ParseOption(argv[i], "-runs=", &runs) && !ParseOption(argv[i], "-seed=", &seed) &&
        !ParseOption(argv[i], "-seconds=", &seconds))
      paths.emplace_back(argv[i]);
  }
  const std::vector<Input> corpus = ReadCorpus(paths);
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus\n");
    return 2;
  }
  for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  Mutator mutator(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  uint64_t run = 0;
  const auto print = [&] {
    std::printf("%zu inputs, %llu mutations, %llu executions\n", corpus.size(),
                static_cast<unsigned long long>(run),
                static_cast<unsigned long long>(run + corpus.size()));
    std::fflush(stdout);
  };
  constexpr uint64_t kRunsBetweenLines = 100'000;
  while (run < runs || std::chrono::steady_clock::now() < end) {
    const Input input = mutator.Mutate(corpus);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    if (++run % kRunsBetweenLines == 0 && seconds > 0) print();
  }
  print();
  return 0;
}
