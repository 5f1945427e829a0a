// evener sweep, compare and report of sweeps, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/built_modules.h"
#include "base/folder_lock.h"
#include "base/random.h"
#include "record/record.h"
#include "record/sweep_file.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"
#include "support/run_program.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

/// What the cells of these sweeps have in common: a training of a tenth of a second.
const Words kSmallTraining = {"train",    "mlp:784-16-10", "--data",   "synth:digits:200",
                              "--engine", "native",        "--split",  "70/10/20",
                              "--lr",     "0.1",           "--epochs", "2"};

class SweepCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  }

  std::string out() const { return (folder_ / "sweep").string(); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  Words small_sweep(const Words& more) const { return joined(joined({"sweep", "--out", out()}, kSmallTraining), more); }
  /// Runs it to its end, where other programs on the machine may make the times INVALID.
  ProgramResult sweep(const Words& more) const {
    const ProgramResult result = run_program(small_sweep(more), options());
    EXPECT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;
    return result;
  }
  std::string refusal(const Words& words) const {
    const ProgramResult result = run_in_process(joined({"sweep"}, words), options());
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  }
  std::string experiment(const std::string& text) const {
    write_text(folder_ / "experiment.toml", text);
    return file("experiment.toml");
  }
  std::string refused_file(const std::string& text) const { return refusal({experiment(text), "--dry-run"}); }
  /// Twenty images of two classes, in data/.
  void write_images() const {
    for (int n = 0; n < 20; ++n) {
      const std::string name = std::string(n % 2 == 0 ? "dark/" : "light/") + std::to_string(n) + ".pgm";
      write_text(folder_ / "data" / name, "P5 2 2 255\n" + std::string(4, static_cast<char>(n % 2 == 0 ? n : 100 + n)));
    }
  }
  ProgramOptions options() const { return {.environment = {}, .cwd = folder_.path()}; }
  record::SweepJournal journal() const { return record::read_journal(out()); }

  TemporaryFolder folder_;
};

/// The cells of a line, of which some may be quoted.
Words cells_of_line(const std::string& line) {
  Words cells = {""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

/// Each row of runs.csv has the figures of the record in the folder that it names.
void expect_figures_of_records(const fs::path& sweep, std::size_t runs) {
  std::ifstream file(sweep / "runs.csv");
  std::string line;
  std::getline(file, line);
  const Words titles = cells_of_line(line);
  std::size_t rows = 0;
  for (; std::getline(file, line); ++rows) {
    const Words cells = cells_of_line(line);
    ASSERT_EQ(cells.size(), titles.size()) << line;
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < cells.size(); ++i) row[titles[i]] = cells[i];
    const nlohmann::json record = record_in(sweep / row.at("folder"));
    EXPECT_EQ(std::stod(row.at("images_per_s")), record["images_per_s"].get<double>()) << line;
    EXPECT_EQ(std::stod(row.at("batch")), record["batch"].get<double>()) << line;
    EXPECT_GE(std::stod(row.at("seconds")), record["times_s"]["total"].get<double>()) << "of the whole process";
  }
  EXPECT_EQ(rows, runs);
}

TEST_F(SweepCommand, RunsEachCellInEachBlockAndTellsIt) {
  const ProgramResult result = sweep({"--batch", "16,32", "--repeats", "2"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("batch"), HasSubstr("speedup"), HasSubstr("16"), HasSubstr("32")));
  EXPECT_TRUE(fs::exists(folder_ / "sweep" / "report.html"));
  std::set<std::pair<std::string, int>> made;
  for (const record::SweepRun& run : journal().runs) {
    EXPECT_TRUE(record::has_figures(run.end)) << run.reason;
    EXPECT_TRUE(fs::exists(folder_ / "sweep" / run.folder / "record.json"));
    made.emplace(run.cell, run.block);
  }
  EXPECT_EQ(made.size(), 4U);
  expect_figures_of_records(out(), 4);
  const ProgramResult again = sweep({"--batch", "16,32", "--repeats", "2"});
  EXPECT_EQ(journal().runs.size(), 4U);
  EXPECT_EQ(again.out, result.out);
  EXPECT_THAT(result.err, HasSubstr("[1/4]"));
  const ProgramResult quiet = sweep({"--batch", "16,32", "--repeats", "2", "--quiet"});
  EXPECT_THAT(quiet.err, Not(HasSubstr("/4]")));
  sweep({"--batch", "16,32,64", "--repeats", "2"});
  EXPECT_EQ(journal().runs.size(), 6U);
}

TEST_F(SweepCommand, KeepsWhenItBeganAndRefusesToWorkBesideAnother) {
  const auto words = [&](const Words& more) {
    return joined(joined({"sweep", "--no-html", "--repeats", "1", "--out", out()}, more),
                  {"matmul", "64", "--seconds", "0.05"});
  };
  EXPECT_THAT(run_in_process(words({"--setup", "exit 4"})).err,
              HasSubstr("--setup 'exit 4' ended with exit code 4, so nothing was run"));
  EXPECT_FALSE(fs::exists(out()));
  fs::create_directories(out());
  record::SweepRecord sweep;
  sweep.command = "matmul";
  sweep.started = "2001-02-03T04:05:06Z";
  record::write_sweep(out(), sweep);
  {
    const FolderLock other(out());
    const ProgramResult refused = run_in_process(words({}));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("another sweep is writing to " + out()));
  }
  EXPECT_EQ(journal().runs.size(), 0U);
  const ProgramResult result = run_program(words({}));
  EXPECT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;
  EXPECT_EQ(record::read_sweep(out()).started, sweep.started);
  EXPECT_EQ(journal().runs.size(), 1U);
  EXPECT_THAT(refusal({"--out", file("sweep/sweep.json"), "matmul", "64"}),
              HasSubstr("is no folder; give another --out"));
}

TEST_F(SweepCommand, ReportsAndComparesWhatItMade) {
  sweep({"--batch", "16,32", "--repeats", "3"});
  const ProgramResult report = run_in_process({"report", out(), "--json", "-", "--csv", file("runs.csv"), "--no-html"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto json = nlohmann::json::parse(report.out);
  ASSERT_EQ(json["cells"].size(), 2U);
  EXPECT_EQ(json["cells"][1]["figures"]["images_per_s"]["values"].size(), 3U);
  EXPECT_TRUE(json["cells"][1]["speedup"].is_number());
  std::ifstream csv(file("runs.csv"));
  std::string line;
  int lines = 0;
  while (std::getline(csv, line)) ++lines;
  EXPECT_EQ(lines, 7);
  const ProgramResult compared = run_in_process({"compare", out() + ":batch=16", out() + ":batch=32"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr("95 % interval"), HasSubstr("3 blocks")));
  EXPECT_THAT(run_in_process({"compare", out() + ":batch=17", out()}).err, HasSubstr("batch"));
  EXPECT_THAT(run_in_process({"compare", out() + ":bach=16", out()}).err, HasSubstr("did you mean 'batch'"));
  EXPECT_THAT(run_in_process({"compare", file("nothing"), out()}).err, HasSubstr("no folder of a run or of a sweep"));
}

TEST_F(SweepCommand, ListsTheRunsWithoutMakingAny) {
  const ProgramResult result = run_in_process(small_sweep({"--batch", "2^4..2^6", "--lr", "0.1,0.2", "--dry-run"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("6 cells"), HasSubstr("batch=64, lr=0.2"), HasSubstr("30 to come")));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(SweepCommand, ReadsAnExperiment) {
  const std::string path = experiment(R"(
command = "train"
title = "Batches"
repeats = 2
[options]
model = "mlp:784-16-10"
data = "synth:digits:200"
engine = "native"
epochs = 2
"$OMP_WAIT_POLICY" = "passive"
[axes]
batch = "2^4..2^5"
seed = [1, 2]
[[together]]
lr = [0.1, 0.2]
momentum = [0.0, 0.9]
[[exclude]]
seed = 2
lr = 0.2
)");
  const ProgramResult dry = run_in_process({"sweep", path, "--dry-run"}, options());
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(dry.out, AllOf(HasSubstr("6 cells"), HasSubstr("batch=16, seed=1, lr=0.2, momentum=0.9"),
                             Not(HasSubstr("seed=2, lr=0.2"))));
  const ProgramResult run = run_program({"sweep", path, "--out", out(), "--repeats", "1"}, options());
  EXPECT_THAT(run.exit_code, testing::AnyOf(0, 3)) << run.err;
  EXPECT_EQ(journal().runs.size(), 6U);
  const record::SweepRecord record = record::read_sweep(out());
  EXPECT_EQ(record.title, "Batches");
  for (const auto& cell : record.cells) EXPECT_EQ(cell.environment.at("OMP_WAIT_POLICY"), "passive");
}

TEST_F(SweepCommand, AScaleReplacesPartsOfAnExperiment) {
  const std::string path = experiment(R"(
command = "train"
repeats = 7
[options]
model = "mlp:784-16-10"
data = "synth:digits:60000"
batch = 16
[axes]
lr = [0.1, 0.2]
[scale.small]
repeats = 1
[scale.small.options]
data = "synth:digits:200"
lr = 0.1
[scale.small.axes]
batch = [32, 64]
)");
  const ProgramResult small = run_in_process({"sweep", path, "--scale", "small", "--dry-run"}, options());
  ASSERT_EQ(small.exit_code, 0) << small.err;
  EXPECT_THAT(small.out, AllOf(HasSubstr("2 cells"), HasSubstr("synth:digits:200"), HasSubstr("batch=64"),
                               HasSubstr("--lr=0.1"), HasSubstr("2 to come")));
  const ProgramResult whole = run_in_process({"sweep", path, "--dry-run"}, options());
  EXPECT_THAT(whole.out, AllOf(HasSubstr("synth:digits:60000"), HasSubstr("14 to come")));
  EXPECT_THAT(refusal({path, "--scale", "smal"}), HasSubstr("did you mean 'small'"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--scale", "small"})), HasSubstr("experiment's file"));
}

TEST_F(SweepCommand, SetsUpFirstAndKeepsWhatWasMeasuredElsewhere) {
  write_text(folder_ / "reference.csv",
             "cell,figure,value,unit,measured,metric,against\n16,speed,1,,batch=16,images_per_s,16\n"
             "32,speed,2,,batch=32,images_per_s,16\n");
  const std::string setup = "test -n \"$EVENER\" && touch " + file("made");
  sweep({"--batch", "16,32", "--repeats", "1", "--setup", setup, "--reference", file("reference.csv"), "--no-html"});
  EXPECT_TRUE(fs::exists(folder_ / "made"));
  EXPECT_FALSE(fs::exists(folder_ / "sweep/report.html"));
  const ProgramResult report = run_in_process({"report", out(), out(), "--html", file("all.html")}, options());
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, AllOf(HasSubstr("published ratio"), HasSubstr("2.00x")));
  EXPECT_TRUE(fs::exists(folder_ / "all.html"));
  EXPECT_EQ(run_in_process(small_sweep({"--setup", "exit 4"})).exit_code, 1);
  EXPECT_THAT(run_in_process(small_sweep({"--reference", file("nothing.csv")})).err, HasSubstr("nothing.csv"));
}

TEST_F(SweepCommand, RefusesWrongWordsBeforeAnyRun) {
  EXPECT_THAT(refusal({"trian", "resnet18"}), HasSubstr("did you mean 'train'"));
  EXPECT_THAT(refusal({"info", "resnet18"}), HasSubstr("no command that leaves a record"));
  EXPECT_THAT(refusal({"nothing.toml"}), HasSubstr("no such file"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--bach", "1,2"})), HasSubstr("did you mean '--batch'"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--batch", "16,,32"})), HasSubstr("empty value"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--batch", "16,many"})), HasSubstr("many"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--batch", "16,16"})), HasSubstr("twice"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--lr", "0.1,-1"})), AllOf(HasSubstr("lr=-1"), HasSubstr("more than 0")));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--on", "cpu/t1,cpu/q7"})), HasSubstr("cpu/q7"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--augment", "flip,crop:4"})), HasSubstr("augment = \"flip,crop:4\""));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--json", "a.json"})), HasSubstr("can't be set for the runs"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--repeats", "0"})), HasSubstr("--repeats"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--until", "narrow"})), HasSubstr("ci=P%"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--until", "ci=2%", "--repeats", "3"})), HasSubstr("too few"));
  EXPECT_THAT(refusal(joined(kSmallTraining, {"--cool-down", "long"})), HasSubstr("--cool-down"));
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(SweepCommand, SaysBeforeAnyRunThatItsDataIsElsewhere) {
  const std::string text =
      "command = \"train\"\n[options]\nmodel = \"mlp:784-16-10\"\ndata = \"my/photos\"\n"
      "[axes]\nlr = [0.1, 0.2]\n";
  write_text(folder_ / "study/experiments/a.toml", text);
  fs::create_directories(folder_ / "study/my/photos");
  EXPECT_THAT(refusal({"study/experiments/a.toml", "--out", out()}),
              AllOf(HasSubstr("'my/photos'"), HasSubstr("study': start the sweep there")));
  EXPECT_THAT(refusal({"train", "mlp:784-16-10", "--data", "my/photos", "--lr", "0.1,0.2", "--out", out()}),
              HasSubstr("'my/photos', which the runs are to read, isn't here"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(SweepCommand, RefusesWrongFilesWithTheLine) {
  EXPECT_THAT(refused_file("repeats = 2\n"), HasSubstr("'command' is missing"));
  EXPECT_THAT(refused_file("command = \"train\"\nrepaets = 2\n"), AllOf(HasSubstr("line 2"), HasSubstr("'repeats'")));
  EXPECT_THAT(refused_file("command = \"train\"\nbatch = 2\n"), HasSubstr("stands under [options]"));
  EXPECT_THAT(refused_file("command = \"train\"\n[axes]\nbacth = [1]\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("'batch'")));
  EXPECT_THAT(refused_file("command = \"train\"\n[axes]\nbatch = []\n"), HasSubstr("empty list"));
  EXPECT_THAT(refused_file("command = \"train\"\n[options]\nbatch = [1, 2]\n"), HasSubstr("stand under [axes]"));
  EXPECT_THAT(refused_file("command = \"train\"\n[options]\nout = \"a\"\n"), HasSubstr("folder of its own"));
  EXPECT_THAT(refused_file("command = \"train\"\n[[together]]\nlr = [0.1]\nbatch = [1, 2]\n"), HasSubstr("as many"));
  EXPECT_THAT(refused_file("command = \"train\"\n[axes]\nlr = [0.1]\n[[exclude]]\nbatch = 1\n"), HasSubstr("no axis"));
  EXPECT_THAT(refused_file("command = \"train\"\n[together]\nlr = [0.1]\n"), HasSubstr("[[together]]"));
  EXPECT_THAT(refused_file("command = \"train\"\nrepeats = \"many\"\n"), HasSubstr("--repeats"));
  EXPECT_THAT(refused_file("command = \n"), HasSubstr("line 1"));
}

TEST_F(SweepCommand, KeepsWhatFailedAsARowAndRepeatsItWhenAsked) {
  const Words words = small_sweep({"--weights", file("a.safetensors") + "," + file("b.safetensors"), "--repeats", "2"});
  const ProgramResult failed = run_program(words);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.out, AllOf(HasSubstr("failed"), HasSubstr("a.safetensors")));
  EXPECT_EQ(journal().runs.size(), 2U);  // each once: it would fail again
  run_program(joined(words, {"--again", "failed"}));
  for (const record::SweepRun& run : journal().runs) EXPECT_EQ(run.block, 2);
}

TEST_F(SweepCommand, TellsThatACommandBeforeRunsFailedAndThatRunsTookTooLong) {
  EXPECT_EQ(run_program(small_sweep({"--batch", "16", "--prepare", "exit 7", "--repeats", "1"})).exit_code, 1);
  ASSERT_EQ(journal().runs.size(), 1U);
  EXPECT_THAT(journal().runs[0].reason, AllOf(HasSubstr("--prepare 'exit 7'"), HasSubstr("exit code 7")));
  fs::remove_all(out());
  EXPECT_EQ(run_program(small_sweep({"--epochs", "100000", "--run-limit", "0.3", "--repeats", "1"})).exit_code, 1);
  ASSERT_EQ(journal().runs.size(), 1U);
  EXPECT_EQ(journal().runs[0].end, record::RunEnd::kOutOfTime);
}

TEST_F(SweepCommand, ChangedDataBeginsAnew) {
  write_images();
  const Words words = {"sweep",  "--out",   out(), "train",    "mlp:4-3-2", "--data",    file("data"), "--engine",
                       "native", "--batch", "2,4", "--epochs", "2",         "--repeats", "1"};
  run_program(words);
  EXPECT_EQ(journal().runs.size(), 2U);
  write_text(folder_ / "data" / "dark" / "more.pgm", "P5 2 2 255\n" + std::string(4, '\1'));
  const ProgramResult result = run_program(words);
  EXPECT_EQ(journal().runs.size(), 4U);
  EXPECT_THAT(result.out, HasSubstr("2 runs of cells that the sweep has no more, or of other data"));
}

TEST_F(SweepCommand, ItsDataMayBeMadeBeforeEachRunButNotChangeBetweenThem) {
  const auto words = [&](const std::string& prepare) {
    return Words{"sweep",     "--out", out(),     "--no-html", "--repeats", "1",
                 "--prepare", prepare, "train",   "mlp:4-3-2", "--engine",  "native",
                 "--data",    "data",  "--batch", "2,4",       "--epochs",  "1"};
  };
  EXPECT_EQ(run_program(words("true"), options()).exit_code, 1) << "the runs fail, which a command might have helped";
  fs::remove_all(out());
  write_images();
  const ProgramResult changed = run_program(words("cp data/dark/0.pgm data/dark/more.pgm"), options());
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_THAT(changed.err, HasSubstr("the data that the sweep reads has changed while it ran; what is done stays"));
  ASSERT_EQ(journal().runs.size(), 1U) << "the second run wasn't begun";
  EXPECT_TRUE(record::has_figures(journal().runs[0].end)) << journal().runs[0].reason;
}

TEST_F(SweepCommand, BeginsWhereOneWasKilledAsItBegan) {
  fs::create_directories(folder_ / "sweep");
  std::ofstream(folder_ / "sweep" / "sweep.json.tmp-4711") << "{";
  sweep({"--batch", "16", "--repeats", "1"});
  EXPECT_FALSE(fs::exists(folder_ / "sweep" / "sweep.json.tmp-4711"));
}

/// When the record of each run that has come to its end was written.
std::map<std::string, fs::file_time_type> finished_runs(const fs::path& sweep) {
  std::map<std::string, fs::file_time_type> finished;
  std::error_code none;
  for (auto entry = fs::recursive_directory_iterator(sweep, none); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (entry->path().filename() != "record.json") continue;
    const auto json = nlohmann::json::parse(std::ifstream(entry->path()), nullptr, false);
    if (json.is_object() && json.value("status", "") == "done") finished[entry->path()] = entry->last_write_time();
  }
  return finished;
}

TEST_F(SweepCommand, GoesOnAfterKillsAtAnyMoment) {
  const Words words = small_sweep({"--batch", "16,32", "--repeats", "6"});
  std::map<std::string, fs::file_time_type> finished;
  Random random(5, Purpose::kSynthetic);
  for (int kill = 0; kill < 10; ++kill) {
    RunningProgram program(program_path(), words);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + static_cast<int>(500 * random.uniform())));
    program.send(SIGKILL);
    program.finish();
    finished.merge(finished_runs(folder_ / "sweep"));
  }
  sweep({"--batch", "16,32", "--repeats", "6"});
  std::map<std::pair<std::string, int>, int> ended;
  std::ifstream file(folder_ / "sweep" / record::kJournalFile);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json["event"] == "end") ++ended[{json["cell"], json["block"]}];
  }
  EXPECT_EQ(ended.size(), 12U);
  EXPECT_THAT(ended, Each(Pair(testing::_, 1)));
  EXPECT_TRUE(journal().warnings.empty());
  const auto all = finished_runs(folder_ / "sweep");
  EXPECT_EQ(all.size(), 12U);
  for (const auto& [path, written] : finished) EXPECT_EQ(all.at(path), written) << path << " was run again";
}

TEST_F(SweepCommand, StopsInGoodOrderAndGoesOn) {
  const Words words = small_sweep({"--batch", "16,32", "--epochs", "2000", "--repeats", "2"});
  RunningProgram program(program_path(), words);
  for (int look = 0; look < 4000 && !fs::exists(folder_ / "sweep" / record::kJournalFile); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  program.send(SIGINT);
  const ProgramResult stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("the same command goes on"));
}

TEST_F(SweepCommand, RefusesFoldersThatItCannotUse) {
  fs::create_directories(folder_ / "sweep");
  write_text(folder_ / "sweep" / "notes.txt", "mine");
  EXPECT_THAT(refusal({"--out", out(), "train", "mlp:784-16-10", "--data", "synth:digits:200"}),
              HasSubstr("holds no sweep"));
  fs::remove(folder_ / "sweep" / "notes.txt");
  write_text(folder_ / "sweep" / "sweep.json", "{\"schema\": \"evener-sweep-0\"}");
  const ProgramResult older = run_in_process(small_sweep({}));
  EXPECT_EQ(older.exit_code, 1);
  EXPECT_THAT(older.err, AllOf(HasSubstr("sweep.json"), HasSubstr("schema")));
  write_text(folder_ / "sweep" / "sweep.json", "no json");
  EXPECT_THAT(run_in_process({"report", out()}).err, HasSubstr("is not JSON"));
}

TEST_F(SweepCommand, ADiskWithoutRoomEndsItWithASentence) {
  const SmallDisk disk("size=64k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const std::string on_disk = (disk.path() / "sweep").string();
  const ProgramResult result =
      run_program(joined(joined({"sweep", "--out", on_disk}, kSmallTraining), {"--batch", "16,32", "--repeats", "20"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err + result.out, HasSubstr("the disk is full"));
}

TEST_F(SweepCommand, BrokenRecordsAreRowsThatFailed) {
  sweep({"--batch", "16,32", "--repeats", "2"});
  write_text(folder_ / "sweep" / journal().runs[0].folder / "record.json", "{");
  const ProgramResult report = run_in_process({"report", out(), "--no-html"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("failed"));
}

// evener sweep --steady, from the command to the records of its runs.

TEST(SweepSteady, RunsHaveTheLengthThatPilotRunsFoundAndTellIt) {
  const TemporaryFolder folder;
  const auto out = folder / "sweep";
  const ProgramResult result =
      run_program({"sweep", "--steady", "90%", "--repeats", "1", "--no-html", "--out", out.string(), "matmul", "128"});
  ASSERT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;
  EXPECT_THAT(result.err, HasSubstr("pilot runs of the cell: seconds = "));
  EXPECT_TRUE(std::filesystem::is_directory(out / record::kPilotFolder));
  const record::SweepRecord sweep = record::read_sweep(out);
  EXPECT_EQ(sweep.steady_deviation, 0.9);
  EXPECT_THAT(sweep.steady, AllOf(StartsWith("seconds = "), HasSubstr("--steady 90%")));
  ASSERT_EQ(sweep.cells.size(), 1U);
  EXPECT_THAT(sweep.cells[0].words, Contains(StartsWith("--seconds="))) << "which nobody gave";
  const record::SweepJournal journal = record::read_journal(out);
  ASSERT_EQ(journal.runs.size(), 1U) << "pilot runs are none of the sweep";
  EXPECT_THAT(record::read_record(out / journal.runs[0].folder).notes, Contains(sweep.steady));
}

}  // namespace
}  // namespace evener::test
