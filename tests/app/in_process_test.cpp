// The real program says what its commands say in the test's own process, where most tests run them, and nothing of
// that process is changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "base/stop.h"
#include "record/record.h"
#include "support/in_process_helpers.h"
#include "support/trained_once_helpers.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// What both ways say, which has to be the same.
ProgramResult said_by_both(const Words& words, const ProgramOptions& options = {}) {
  ProgramResult real = run_program(words, options);
  const ProgramResult here = run_in_process(words, options);
  EXPECT_EQ(here.exit_code, real.exit_code);
  EXPECT_EQ(here.out, real.out);
  EXPECT_EQ(here.err, real.err);
  return real;
}

class EveryCommand : public testing::TestWithParam<Words> {};

TEST_P(EveryCommand, RefusesWrongWordsAsTheRealProgramDoes) {
  const ProgramResult result = said_by_both(GetParam());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("evener: "));
}

INSTANTIATE_TEST_SUITE_P(
    Of, EveryCommand,
    testing::Values(Words{"doctor", "--jason"}, Words{"demo", "--minutes", "0.1"}, Words{"info", "resnet43"},
                    Words{"train", "resnet43", "--data", "synth:masks:90"}, Words{"infer", "resnet19", "random:1"},
                    Words{"serve", "resnet18", "--prot", "80"}, Words{"export", "resnet20"},
                    Words{"quantize", "resnet18", "--keep"}, Words{"faces"}, Words{"detect", "--clases", "a"},
                    Words{"matmul", "96", "--precision", "int3"}, Words{"plan"}, Words{"sweep", "trian", "resnet18"},
                    Words{"report"}, Words{"share"}, Words{"compare", "a"}, Words{"data", "inof"},
                    Words{"completion", "zhs"}),
    [](const auto& info) { return info.param.front(); });

TEST(RealProgram, AnswersAsInProcess) {
  const Words train = {"train", "mlp:784-10", "--data", "synth:digits:100", "--on", "cpu/t1", "--dry-run"};
  for (const Words& words :
       {Words{}, Words{"--version"}, Words{"train", "--help"}, Words{"info", "mlp:4-2"}, Words{"completion", "fish"}}) {
    const ProgramResult result = said_by_both(words);
    EXPECT_EQ(result.exit_code, 0) << testing::PrintToString(words);
    EXPECT_NE(result.out, "");
    EXPECT_EQ(result.err, "");
  }
  // With times, and memory that is free.
  for (const Words& words : {train, Words{"data", "info", "synth:digits:20"}, joined({"sweep", "--dry-run"}, train)}) {
    EXPECT_EQ(run_program(words).exit_code, 0) << testing::PrintToString(words);
    EXPECT_EQ(run_in_process(words).exit_code, 0) << testing::PrintToString(words);
  }
}

TEST(RealProgram, ReportsAndComparesAsInProcess) {
  const TemporaryFolder folder;
  for (const std::string name : {"a", "b"}) {
    record::Record record;
    record.model.name = "resnet34";
    record.placement.text = "cpu/t1";
    record.images_per_s = record::throughput_of(std::vector<double>(12, name == "a" ? 10 : 20), "steps");
    fs::create_directories(folder / name);
    record::write_record(folder / name, record);
  }
  const std::string a = (folder / "a").string(), b = (folder / "b").string();
  EXPECT_THAT(said_by_both({"report", a, b, "--no-html"}).out, HasSubstr("2.00x"));
  EXPECT_EQ(said_by_both({"report", a, "--no-html"}).exit_code, 0);
  EXPECT_EQ(said_by_both({"compare", a, b}).exit_code, 0);
}

TEST(InProcess, LeavesTheProcessAsItWas) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  struct sigaction handler {};
  const auto handler_of = [&](int signal) {
    sigaction(signal, nullptr, &handler);
    return handler.sa_handler;
  };
  const auto interrupt = handler_of(SIGINT), hangup = handler_of(SIGHUP);
  unsetenv("EVENER_PLOTLY");
  write_text(folder / "run.toml", "dry-run = true\n");
  const ProgramOptions options{.environment = {{"EVENER_PLOTLY", "none.js"}}, .cwd = folder.path()};
  const ProgramResult result = run_in_process(
      {"train", "mlp:784-10", "--data", "synth:digits:100", "--on", "cpu/t1", "--config", "run.toml"}, options);
  EXPECT_EQ(result.exit_code, 0) << "the file is found: " << result.err;
  EXPECT_EQ(fs::current_path(), before);
  EXPECT_EQ(handler_of(SIGINT), interrupt);
  EXPECT_EQ(handler_of(SIGHUP), hangup);
  EXPECT_EQ(std::getenv("EVENER_PLOTLY"), nullptr);
  EXPECT_FALSE(stop_requested());
  EXPECT_EQ(run_in_process({"info", "mlp:4-2"}).out, run_in_process({"info", "mlp:4-2"}).out);
}

TEST(TrainedOnce, GivesEachACopyOfItsOwn) {
  const TemporaryFolder folder;
  const Words words = {"train",  "mlp:784-4-10", "--data", "synth:digits:100", "--on",
                       "cpu/t1", "--engine",     "native", "--epochs",         "1"};
  ASSERT_TRUE(trained_once("trained-once", words, folder / "a"));
  fs::remove(folder / "a" / "last.safetensors");
  ASSERT_TRUE(trained_once("trained-once", words, folder / "b"));
  EXPECT_EQ(record_in(folder / "b")["started"], record_in(folder / "a")["started"]) << "of one training";
  EXPECT_FALSE(last_weights(folder / "b").empty());
  ASSERT_TRUE(trained_once("trained-once", joined(words, {"--seed", "2"}), folder / "c"));
  EXPECT_NE(last_weights(folder / "c"), last_weights(folder / "b")) << "other words are another training";
  int kept = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(program_path()).parent_path().parent_path() / "test-data")) {
    kept += entry.is_directory() && entry.path().filename().string().starts_with("trained-once-") ? 1 : 0;
  }
  EXPECT_EQ(kept, 1) << "older ones are removed";
}

}  // namespace
}  // namespace evener::test
