// What commands print, rule by rule: lines of epochs, what a report writes where, and what it refuses.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "base/files.h"
#include "network/zoo.h"
#include "options/progress_line.h"
#include "record/record.h"
#include "record/statistics.h"
#include "record/sweep_file.h"
#include "support/in_process_helpers.h"
#include "train/progress.h"

namespace evener::app {
namespace {

namespace fs = std::filesystem;
using test::run_in_process;
using test::TemporaryFolder;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// What is said of an epoch in which 4 s went to 1000 images, half of which were trained on.
std::string said_of(const std::function<void(record::EpochRecord&)>& change, std::size_t val_images = 1000) {
  training::TrainSetup setup(network::build("mlp:4-2", {}));
  setup.epochs = 7;
  setup.val_images = val_images;
  training::TrainProgress loud(9, false);
  testing::internal::CaptureStderr();
  loud.setup(setup);
  testing::internal::GetCapturedStderr();
  record::EpochRecord epoch;
  epoch.epoch = 3;
  epoch.seconds = 4;
  epoch.share = 0.5;
  epoch.train_loss = 0.25;
  change(epoch);
  record::set_speed(epoch, 1000);
  testing::internal::CaptureStderr();
  loud.epoch(epoch);
  return testing::internal::GetCapturedStderr();
}

/// An environment variable while the object lives; null = unset.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const { value != nullptr ? setenv(name_, value, 1) : unsetenv(name_); }

  const char* name_;
  std::optional<std::string> before_;
};

/// What a terminal gets from a command that shows progress twice and then a note, and whether it may be coloured.
std::pair<std::string, bool> on_terminal(const char* term, const char* no_color) {
  const Variable kind("TERM", term), refusal("NO_COLOR", no_color);
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  const int end = open(ptsname(terminal), O_RDWR | O_NOCTTY), before = dup(STDERR_FILENO);
  dup2(end, STDERR_FILENO);
  ProgressLine line(/*quiet=*/false);
  line.show("one");
  line.show("two");
  line.note("said");
  const bool coloured = may_colour(STDERR_FILENO);
  dup2(before, STDERR_FILENO);
  std::string text;
  pollfd waiting{terminal, POLLIN, 0};
  while (!text.ends_with("said\r\n") && poll(&waiting, 1, 2000) == 1) {
    char some[1000];
    const ssize_t size = read(terminal, some, sizeof some);
    if (size <= 0) break;
    text.append(some, static_cast<std::size_t>(size));
  }
  for (const int each : {terminal, end, before}) close(each);
  return {text, coloured};
}

TEST(Terminal, GetsWhatItUnderstands) {
  const std::string blank = "\r" + std::string(79, ' ') + "\r", redrawn = "one" + blank + "two" + blank + "said\r\n";
  const std::string lines = "one\r\ntwo\r\nsaid\r\n";
  struct Row {
    const char *term, *no_color;
    std::string text;
    bool coloured;
  };
  for (const Row& row : {Row{"xterm-256color", nullptr, redrawn, true}, Row{"xterm", "", redrawn, true},
                         Row{"xterm", "1", redrawn, false}, Row{"dumb", nullptr, lines, false},
                         Row{"", nullptr, lines, false}, Row{nullptr, nullptr, lines, false}}) {
    EXPECT_EQ(on_terminal(row.term, row.no_color), std::pair(row.text, row.coloured))
        << testing::PrintToString(row.term);
  }
}

TEST(EpochLine, HasSpeedLossesAndAccuracies) {
  EXPECT_EQ(said_of([](record::EpochRecord&) {}), "epoch 3/7  4.0 s  125 img/s  train loss 0.2500\n");
  EXPECT_EQ(said_of([](record::EpochRecord& epoch) { epoch.head_only = true; }),
            "epoch 3/7  4.0 s  linear probing  train loss 0.2500\n");
  const auto whole = [](record::EpochRecord& epoch) {
    epoch.train_accuracy = 0.625;
    epoch.val_loss = 0.75;
    epoch.val_accuracy = 0.125;
    epoch.best = true;
  };
  EXPECT_THAT(said_of(whole),
              EndsWith("train loss 0.2500  accuracy 62.5 %  validation loss 0.7500  accuracy 12.5 %  (best)\n"));
  EXPECT_THAT(said_of(whole, record::kFewJudged), HasSubstr("(best)"));
  EXPECT_THAT(said_of(whole, record::kFewJudged - 1), Not(HasSubstr("(best)"))) << "few images don't tell which is";
}

TEST(EpochLine, OfADetectorHasItsOwnFigures) {
  const std::string line = said_of([](record::EpochRecord& epoch) {
    epoch.figures = {{"train_box_loss", 0.5},
                     {"train_class_loss", 1.5},
                     {"val_box_loss", 2.5},
                     {"val_class_loss", 3.5},
                     {"val_map_50", 0.375}};
    epoch.val_loss = 6;
  });
  EXPECT_THAT(line, EndsWith("train loss 0.2500 (boxes 0.500, classes 1.500)  validation loss 6.0000 (boxes 2.500, "
                             "classes 3.500)  mAP@0.5 0.375\n"));
}

TEST(SetupLines, NameFewFilesAndWhereARunGoesOn) {
  training::TrainSetup setup(network::build("mlp:4-2", {}));
  for (const char* file : {"f1", "f2", "f3", "f4", "f5"})
    setup.skipped.push_back({.file = file, .reason = "is broken"});
  setup.notes = {"a note"};
  setup.steps_per_epoch = 12;
  const auto said = [](const training::TrainSetup& of) {
    training::TrainProgress progress(1, false);
    testing::internal::CaptureStderr();
    progress.setup(of);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said(setup), AllOf(HasSubstr("5 files left out:\n"), HasSubstr("  f5: is broken\n"),
                                 Not(HasSubstr("lists all")), HasSubstr("a note\n"), Not(HasSubstr("going on"))));
  setup.skipped.push_back({.file = "f6", .reason = "is broken"});
  setup.resumed_step = 5;
  EXPECT_THAT(said(setup), AllOf(HasSubstr("6 files"), Not(HasSubstr("f6")), HasSubstr("lists all"),
                                 HasSubstr("going on after epoch 0, step 5 of 12")));
}

class ReportRules : public testing::Test {
 protected:
  /// A sweep of two cells, the second twice as fast; returns its folder.
  std::string sweep(const std::string& name) {
    const fs::path folder = folder_ / name;
    fs::create_directories(folder);
    record::SweepRecord record;
    record.command = "train";
    record.series = {{}};
    record.axes = {{{"on"}, {{"one"}, {"two"}}}};
    record::JournalWriter journal(folder);
    for (const std::string cell : {"one", "two"}) {
      record.cells.push_back(
          {.key = cell, .folder = cell, .values = {{"on", cell}}, .words = {"train"}, .environment = {}, .data = ""});
      record::SweepRun run;
      run.cell = cell;
      run.folder = cell + "/b1";
      run.end = record::RunEnd::kDone;
      record::Record made;
      made.model.name = "resnet34";
      made.images_per_s = record::throughput_of(std::vector<double>(12, cell == "one" ? 10 : 20), "steps");
      fs::create_directories(folder / run.folder);
      record::write_record(folder / run.folder, made);
      journal.end(run);
    }
    record::write_sweep(folder, record);
    return folder.string();
  }
  TemporaryFolder folder_;
};

TEST_F(ReportRules, OptionsThatContradictEachOtherAreNamed) {
  const std::pair<test::Words, const char*> rows[] = {
      {{"a", "--no-html", "--html", "x.html"}, "--no-html writes no page"},
      {{"a", "--csv", "-", "--json", "-"}, "only one of --csv and --json"},
  };
  for (const auto& [words, message] : rows) {
    const auto result = run_in_process(test::joined({"report"}, words));
    EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(words);
    EXPECT_THAT(result.err, HasSubstr(message)) << testing::PrintToString(words);
  }
}

TEST_F(ReportRules, ASweepIsToldWhereItIsAskedFor) {
  const std::string one = sweep("one");
  const auto table = run_in_process({"report", one, "--no-html"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("2.00x"), HasSubstr("which of the 2 cells is best")));
  EXPECT_FALSE(fs::exists(folder_ / "one/report.html"));
  const auto csv = run_in_process({"report", one, "--no-html", "--csv", "-"});
  EXPECT_THAT(csv.out, StartsWith("on,block,part,"));
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), 3);
  EXPECT_THAT(run_in_process({"report", one, "--no-html", "--json", "-"}).out, StartsWith("{"));
  const auto files =
      run_in_process({"report", one, "--csv", (folder_ / "x.csv").string(), "--json", (folder_ / "x.json").string()});
  EXPECT_THAT(files.out, HasSubstr("2.00x"));
  EXPECT_THAT(files.err, AllOf(HasSubstr("wrote " + (folder_ / "x.csv").string()), HasSubstr("x.json"),
                               HasSubstr("report: " + (folder_ / "one/report.html").string())));
  EXPECT_EQ(read_file(folder_ / "x.csv"), csv.out);
  EXPECT_TRUE(fs::exists(folder_ / "one/report.html"));
}

TEST_F(ReportRules, SeveralSweepsHaveAPageTogether) {
  const std::string one = sweep("all/one"), two = sweep("all/two"), all = (folder_ / "all").string();
  const auto result = run_in_process({"report", all});
  EXPECT_THAT(result.out, AllOf(StartsWith("one\n"), HasSubstr("\ntwo\n")));
  EXPECT_TRUE(fs::exists(folder_ / "all/report.html"));
  EXPECT_FALSE(fs::exists(folder_ / "all/one/report.html"));
  const auto csv = run_in_process({"report", one, two, "--no-html", "--csv", "-"});
  EXPECT_EQ(csv.exit_code, 2);
  EXPECT_THAT(csv.err, HasSubstr("tell one sweep"));
  const std::string page = (folder_ / "page.html").string();
  EXPECT_EQ(run_in_process({"report", one, two, "--html", page}).exit_code, 0);
  EXPECT_TRUE(fs::exists(page));
}

}  // namespace
}  // namespace evener::app
