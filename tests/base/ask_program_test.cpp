// Questions to a new process of the program. Core builds, which have no program, leave this file out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/built_modules.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/stop.h"
#include "base/test_folder.h"

namespace evener {
namespace {

using testing::HasSubstr;

std::string failure_of(const std::vector<std::string>& question, double limit_s = 60) {
  try {
    return "no error: " + ask_program(question, limit_s);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(AskProgram, AnotherProcessAnswersWhateverThreadsThisOneHas) {
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  const std::string drivers = ask_program({"accelerators", "cuda"}, 60);
  EXPECT_FALSE(drivers.empty()) << "a message, also where there are none";
  EXPECT_EQ(ask_program({"accelerators", "cuda"}, 60), drivers);
}

TEST(AskProgram, SaysWhatBecameOfTheQuestion) {
  EXPECT_THAT(failure_of({"how-are-you"}), HasSubstr("ended with exit code 1"));
  EXPECT_THAT(failure_of({"accelerators"}), testing::Not(HasSubstr("no error"))) << "of which drivers?";
  if (!test::module_is_built("openvino")) GTEST_SKIP() << "OpenVINO is not built";
  const test::TestFolder folder;
  EXPECT_THAT(ask_program({"model-file", (folder / "gone.onnx").string()}, 60), HasSubstr("gone.onnx"));
}

TEST(AskProgram, ALateAnswerAndAStopEndTheOther) {
  if (!test::module_is_built("openvino")) GTEST_SKIP() << "OpenVINO is not built";
  const test::TestFolder folder;
  const std::string pipe = (folder / "waits.onnx").string();  // for somebody who writes into it
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(failure_of({"model-file", pipe}, 0.3), HasSubstr("no answer within"));
  request_stop();
  EXPECT_THROW(ask_program({"model-file", pipe}, 60), Interrupted);
  clear_stop_request();
}

}  // namespace
}  // namespace evener
