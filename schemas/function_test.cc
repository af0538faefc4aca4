#include "schemas/function.h"

#include <gtest/gtest.h>

#include <set>

namespace eroica {
namespace {

constexpr FunctionClass kAllClasses[] = {FunctionClass::kGpuCompute, FunctionClass::kMemoryOp,
                                         FunctionClass::kCollective, FunctionClass::kPython,
                                         FunctionClass::kCpuOp};

TEST(Function, CriticalPathPriorityFollowsTheClassOnADevice) {
  for (int i = 0; i < kFunctionClassCount; ++i)
    EXPECT_EQ(CriticalPathPriority(kAllClasses[i], false), i);
}

TEST(Function, CpuOperatorsTakeThePlaceOfKernelsOnAHost) {
  EXPECT_EQ(CriticalPathPriority(FunctionClass::kCpuOp, true), 0);
  std::set<int> priorities;
  for (const FunctionClass function_class : kAllClasses)
    priorities.insert(CriticalPathPriority(function_class, true));
  EXPECT_EQ(priorities.size(), 5u);
  EXPECT_LT(CriticalPathPriority(FunctionClass::kCollective, true),
            CriticalPathPriority(FunctionClass::kPython, true));
}

TEST(Function, TheHashDependsOnClassNameAndCaller) {
  const FunctionId none(0);
  const FunctionId base = HashFunction(FunctionClass::kPython, "step", none);
  EXPECT_EQ(base, HashFunction(FunctionClass::kPython, "step", none));
  EXPECT_NE(base, HashFunction(FunctionClass::kCpuOp, "step", none));
  EXPECT_NE(base, HashFunction(FunctionClass::kPython, "steps", none));
  EXPECT_NE(base, HashFunction(FunctionClass::kPython, "step", base));
}

// It is compared across hosts and kept in stores: a new value would cut every history.
TEST(Function, TheHashIsFrozen) {
  const FunctionId main = HashFunction(FunctionClass::kPython, "train.py: main", FunctionId(0));
  EXPECT_EQ(main.value, 8'725'432'016'077'536'898u);
  EXPECT_EQ(HashFunction(FunctionClass::kPython, "train.py: step", main).value,
            9'860'091'131'483'152'009u);
}

TEST(Function, EveryClassAndWaitHasAName) {
  std::set<std::string_view> names;
  for (const FunctionClass function_class : kAllClasses) names.insert(ToString(function_class));
  for (const WaitKind wait : {WaitKind::kNone, WaitKind::kPeer, WaitKind::kOther})
    names.insert(ToString(wait));
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(ToString(static_cast<FunctionClass>(99)), "unknown");
}

}  // namespace
}  // namespace eroica
