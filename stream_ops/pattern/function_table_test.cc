#include "stream_ops/pattern/function_table.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(FunctionTable, OneNumberForOneStackWhateverTheBatch) {
  FunctionTable table;
  std::vector<uint32_t> first;
  table.Intern(std::vector<FunctionDef>{{"main", FunctionClass::kPython},
                                        {"step", FunctionClass::kPython, WaitKind::kNone, 0},
                                        {"sleep", FunctionClass::kPython, WaitKind::kOther, 1}},
               &first);
  std::vector<uint32_t> second;
  table.Intern(std::vector<FunctionDef>{{"sleep", FunctionClass::kPython},
                                        {"main", FunctionClass::kPython},
                                        {"step", FunctionClass::kPython, WaitKind::kNone, 1},
                                        {"sleep", FunctionClass::kPython, WaitKind::kOther, 2}},
               &second);
  EXPECT_EQ(second[1], first[0]);
  EXPECT_EQ(second[3], first[2]);
  EXPECT_NE(second[0], first[2]) << "another caller, another function";
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.Stack(first[2]), "main > step");
  EXPECT_EQ(table.Stack(first[0]), "");
  EXPECT_EQ(table.traits()[first[2]].depth, 2u);
  EXPECT_EQ(table.traits()[first[2]].wait, WaitKind::kOther);
  EXPECT_EQ(table.traits()[first[1]].id,
            HashFunction(FunctionClass::kPython, "step", table.traits()[first[0]].id));
}

TEST(FunctionTable, KeepsFindingThemAsItGrows) {
  FunctionTable table;
  std::vector<FunctionDef> functions;
  for (int i = 0; i < 5000; ++i)
    functions.push_back({"kernel " + std::to_string(i), FunctionClass::kGpuCompute});
  std::vector<uint32_t> first, second;
  table.Intern(functions, &first);
  table.Intern(functions, &second);
  EXPECT_EQ(first, second);
  EXPECT_EQ(table.size(), 5000u);
}

TEST(FunctionTable, EndlessNamesShareARow) {
  FunctionTable table(10);
  std::vector<FunctionDef> functions;
  for (int i = 0; i < 30; ++i)
    functions.push_back(
        {"k" + std::to_string(i), i % 2 == 0 ? FunctionClass::kGpuCompute : FunctionClass::kCpuOp});
  std::vector<uint32_t> numbers;
  table.Intern(functions, &numbers);
  EXPECT_EQ(table.size(), 12u);
  EXPECT_EQ(numbers[20], numbers[28]);
  EXPECT_EQ(numbers[21], numbers[29]);
  EXPECT_EQ(table.name(numbers[20]), FunctionTable::kOtherFunctions);
  EXPECT_EQ(table.traits()[numbers[21]].function_class, FunctionClass::kCpuOp);
  EXPECT_EQ(table.overflowed(), 20u);
  table.Intern(functions, &numbers);
  EXPECT_EQ(table.size(), 12u) << "and it stays so";
}

TEST(FunctionTable, LongNamesShareARowBeyondTheirBytes) {
  FunctionTable table(FunctionTable::kMostFunctions, /*most_name_bytes=*/8);
  const std::vector<FunctionDef> functions{{"12345"}, {"123"}, {"1"}, {"12345"}, {"2"}};
  std::vector<uint32_t> numbers;
  table.Intern(functions, &numbers);
  EXPECT_EQ(table.name(numbers[1]), "123");
  EXPECT_EQ(table.name(numbers[2]), FunctionTable::kOtherFunctions);
  EXPECT_EQ(numbers[3], numbers[0]) << "what is known stays known";
  EXPECT_EQ(numbers[4], numbers[2]);
}

TEST(ResourceOf, MemoryOperationsByTheirDirection) {
  EXPECT_EQ(ResourceOf(FunctionClass::kMemoryOp, "Memcpy HtoD (Pinned -> Device)").first,
            Resource::kPcieTx);
  EXPECT_EQ(ResourceOf(FunctionClass::kMemoryOp, "Memcpy PtoP").first, Resource::kNvlink);
  EXPECT_EQ(ResourceOf(FunctionClass::kMemoryOp, "Memset (Device)").first, Resource::kGpuDram);
  EXPECT_EQ(ResourceOf(FunctionClass::kCollective, "ncclDevKernel").second, Resource::kPcieTx);
}

}  // namespace
}  // namespace eroica
