#include "producers/python/stack_functions.h"

#include <gtest/gtest.h>

#include "producers/core/testing/recorded_core.h"

namespace eroica {
namespace {

class StackFunctionsTest : public ::testing::Test {
 protected:
  StackFunctionsTest() {
    recorded_core::Reset();
    functions_.Name(
        {{0, "train.py(1): <module>"}, {1, "train.py(9): step"}, {2, "threading.py(3): wait"}});
  }
  // Innermost first.
  static PythonStack StackOf(std::initializer_list<uint32_t> codes) {
    PythonStack stack;
    for (const uint32_t code : codes) stack.codes[stack.depth++] = code;
    return stack;
  }

  StackFunctions functions_;
};

TEST_F(StackFunctionsTest, AStackIsAChainFromTheOutermostFrame) {
  const uint32_t leaf = functions_.LeafOf(StackOf({2, 1, 0}));
  const auto table = recorded_core::Read().functions;
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[leaf].name, "threading.py(3): wait");
  EXPECT_EQ(table[leaf].wait, EROICA_WAIT_OTHER);
  EXPECT_EQ(table[table[leaf].parent].name, "train.py(9): step");
  EXPECT_EQ(table[table[table[leaf].parent].parent].parent, EROICA_NO_PARENT);
}

TEST_F(StackFunctionsTest, AStackSeenBeforeAsksTheCoreNothing) {
  const uint32_t leaf = functions_.LeafOf(StackOf({1, 0}));
  recorded_core::Reset();
  EXPECT_EQ(functions_.LeafOf(StackOf({1, 0})), leaf);
  EXPECT_TRUE(recorded_core::Read().functions.empty());
}

TEST_F(StackFunctionsTest, StacksThatShareTheirOuterFramesAreToldApart) {
  const uint32_t step = functions_.LeafOf(StackOf({1, 0}));
  const uint32_t wait = functions_.LeafOf(StackOf({2, 1, 0}));
  const uint32_t alone = functions_.LeafOf(StackOf({2, 0}));
  EXPECT_EQ(functions_.LeafOf(StackOf({1, 0})), step);
  EXPECT_EQ(functions_.LeafOf(StackOf({2, 1, 0})), wait);
  EXPECT_EQ(functions_.LeafOf(StackOf({2, 0})), alone);
  EXPECT_NE(wait, alone);
}

TEST_F(StackFunctionsTest, AFrameThatGetsItsNameLaterHasItFromThenOn) {
  const uint32_t without = functions_.LeafOf(StackOf({3, 0}));
  EXPECT_EQ(without, functions_.LeafOf(StackOf({0})));
  functions_.Name({{3, "late.py(1): f"}});
  EXPECT_NE(functions_.LeafOf(StackOf({3, 0})), without);
}

TEST_F(StackFunctionsTest, AFunctionThatHasNotBegunGivesItsTimeToItsCaller) {
  PythonStack stack = StackOf({2, 1, 0});
  stack.innermost_at_start = true;
  EXPECT_EQ(functions_.LeafOf(stack), functions_.LeafOf(StackOf({1, 0})));
  PythonStack outermost = StackOf({0});
  outermost.innermost_at_start = true;
  EXPECT_EQ(functions_.LeafOf(outermost), functions_.LeafOf(StackOf({0})));
}

TEST_F(StackFunctionsTest, CodeWithoutANameIsLeftOut) {
  EXPECT_EQ(functions_.LeafOf(StackOf({77, 1, 0})), functions_.LeafOf(StackOf({1, 0})));
  EXPECT_EQ(functions_.LeafOf(StackOf({77})), EROICA_NO_PARENT);
  EXPECT_EQ(functions_.LeafOf(StackOf({})), EROICA_NO_PARENT);
  functions_.Name({{UINT32_MAX, "nobody"}});
  EXPECT_EQ(functions_.LeafOf(StackOf({UINT32_MAX})), EROICA_NO_PARENT);
}

TEST_F(StackFunctionsTest, RecursionBeyondTheBoundEndsInTheLastKnownCaller) {
  uint32_t function = EROICA_NO_PARENT;
  for (size_t i = 0; i < StackFunctions::kMostNodes; ++i) {
    // Asks as a trace does that goes ever deeper; each depth is a function of its own.
    function = functions_.FunctionOf(static_cast<uint32_t>(i), 1);
  }
  EXPECT_EQ(functions_.FunctionOf(123'456'789, 1), 123'456'789u);
  EXPECT_NE(function, EROICA_NO_PARENT);
}

}  // namespace
}  // namespace eroica
