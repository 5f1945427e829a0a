// What words of a sweep stand for: its fixed options, its axes and the words of each cell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commands.h"
#include "base/error.h"
#include "base/test_folder.h"
#include "sweep/asked_sweep.h"

namespace evener::sweeps {
namespace {

using test::plan_refusal;
using test::PlanWords;
using test::TestFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;
using Asked = test::AskedSweep;

std::string words_refusal(const PlanWords& words) {
  return plan_refusal([&] { cells_of(Asked(words).plan()); });
}

PlanWords sweep_of_training(const PlanWords& more) {
  PlanWords words = {"train", "mlp:784-16-10", "--data", "synth:digits:200"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(SweepWordsTest, ValuesWithCommasAreAxesInTheOrderOfTheWords) {
  const Asked asked(sweep_of_training({"--batch=16,32,64", "--lr", "0.1", "--seed", "7,8"}));
  EXPECT_EQ(asked.plan().command, "train");
  ASSERT_EQ(asked.plan().axes.size(), 2u);
  EXPECT_THAT(asked.plan().axes[0].names, ElementsAre("batch"));
  EXPECT_THAT(asked.plan().axes[0].steps, ElementsAre(PlanWords{"16"}, PlanWords{"32"}, PlanWords{"64"}));
  EXPECT_THAT(asked.plan().axes[1].names, ElementsAre("seed"));
  EXPECT_THAT(asked.plan().values.at("seed"), ElementsAre(Pair("7", PlanWords{"7"}), Pair("8", PlanWords{"8"})));
  EXPECT_THAT(asked.plan().fixed,
              UnorderedElementsAre(Pair("model", PlanWords{"mlp:784-16-10"}), Pair("lr", PlanWords{"0.1"}),
                                   Pair("data", PlanWords{"synth:digits:200"})));
  const auto cells = asked.cells();
  ASSERT_EQ(cells.size(), 6u);
  EXPECT_THAT(cells[1].words,
              ElementsAre("train", "mlp:784-16-10", "--data=synth:digits:200", "--seed=8", "--batch=16", "--lr=0.1"));
  EXPECT_THAT(cells[1].values, UnorderedElementsAre(Pair("batch", "16"), Pair("seed", "8")));
}

TEST(SweepWordsTest, PositionalsMayBeAxesToo) {
  const Asked asked({"train", "resnet20,resnet32", "--data", "synth:digits:200"});
  ASSERT_EQ(asked.plan().axes.size(), 1u);
  EXPECT_THAT(asked.plan().axes[0].names, ElementsAre("model"));
  EXPECT_EQ(asked.cells()[1].words[1], "resnet32");
  EXPECT_THAT(words_refusal({"train", "resnet20", "resnet32", "--data", "synth:digits:200"}),
              HasSubstr("'resnet32' is one argument too many for 'train'"));
}

TEST(SweepWordsTest, VariablesStandBeforeTheCommand) {
  const Asked asked({"OMP_WAIT_POLICY=active,passive", "FIXED_2=1=2", "train", "resnet20", "--data=synth:digits:200"});
  EXPECT_THAT(asked.plan().fixed.at("$FIXED_2"), ElementsAre("1=2"));
  const auto cells = asked.cells();
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_THAT(cells[1].environment, UnorderedElementsAre(Pair("OMP_WAIT_POLICY", "passive"), Pair("FIXED_2", "1=2")));
  EXPECT_THAT(cells[1].words, ElementsAre("train", "resnet20", "--data=synth:digits:200"));
  EXPECT_NE(cells[0].key, cells[1].key);
  for (const char* word : {"2A=1", "=1", "A-B=1"}) {
    EXPECT_THAT(words_refusal({word, "train", "resnet20"}), HasSubstr("is no command that leaves a record")) << word;
  }
}

TEST(SweepWordsTest, AnOptionGivenTwiceIsRefusedUnlessAllOfItCounts) {
  const auto refusal = [](const PlanWords& more) { return words_refusal(sweep_of_training(more)); };
  EXPECT_EQ(refusal({"--batch", "16,32", "--batch", "64"}),
            "--batch is given twice, 16,32 and 64: give it once, with commas between several values");
  EXPECT_THAT(refusal({"--batch", "64", "--batch", "64"}), HasSubstr("--batch is given twice, 64 and 64"));
  EXPECT_THAT(refusal({"--out", "a", "--out", "b"}), HasSubstr("--out is given twice, a and b"));
  EXPECT_THAT(words_refusal({"A=1", "A=2", "matmul"}), HasSubstr("A is given twice, 1 and 2"));
  const Asked data(sweep_of_training({"--data", "synth:shapes:20"}));  // of which all count
  EXPECT_THAT(data.plan().fixed.at("data"), ElementsAre("synth:digits:200", "synth:shapes:20"));
}

TEST(SweepWordsTest, PowersThatAreNamedAreOneValue) {
  const Asked asked(sweep_of_training({"--assume-power", "cpu=65W,idle=20W"}));
  EXPECT_THAT(asked.plan().fixed.at("assume-power"), ElementsAre("cpu=65W,idle=20W"));
  EXPECT_THAT(asked.cells().front().words, testing::Contains("--assume-power=cpu=65W,idle=20W"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--augment", "flip,crop"})), HasSubstr("could be one value or several"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--assume-power", "cpu=65W,20W"})), HasSubstr("could be one value"));
}

TEST(SweepWordsTest, OptionsOfTheSweepAndOfItsCommandAreToldApart) {
  const Asked asked({"--warmup", "3", "--dry-run", "train", "resnet20", "--data=synth:digits:200", "--warmup", "2",
                     "--order-seed=9", "--predict", "--momentum=0.9", "--nesterov"});
  EXPECT_EQ(*asked.flags.warmup, 3);
  EXPECT_EQ(*asked.flags.order_seed, 9u);
  EXPECT_TRUE(*asked.flags.predict);
  EXPECT_TRUE(*asked.flags.dry_run);
  EXPECT_THAT(asked.plan().fixed.at("warmup"), ElementsAre("2"));
  EXPECT_THAT(asked.plan().fixed.at("nesterov"), ElementsAre("true"));
  EXPECT_THAT(asked.cells().front().words, testing::Contains("--nesterov"));
  const Asked out(sweep_of_training({"--out", "there", "--dry-run", "--quiet"}));
  EXPECT_EQ(*out.flags.out, "there");
  EXPECT_TRUE(*out.flags.quiet);
  EXPECT_TRUE(*out.flags.dry_run);
  EXPECT_FALSE(*Asked(sweep_of_training({})).flags.dry_run);
}

TEST(SweepWordsTest, AnOptionThatIsAListMayStandSeveralTimes) {
  const Asked asked(sweep_of_training({"--freeze", "conv1*", "--freeze", "fc*"}));
  EXPECT_THAT(asked.plan().fixed.at("freeze"), ElementsAre("conv1*", "fc*"));
}

TEST(SweepWordsTest, WhatNamesAFileIsOneValue) {
  const TestFolder folder;
  const std::string a = (folder / "a,b").string(), pair = a + "," + (folder / "c").string();
  test::write_text(a, "");
  EXPECT_THAT(Asked(sweep_of_training({"--weights", a})).plan().fixed.at("weights"), ElementsAre(a));
  EXPECT_EQ(Asked(sweep_of_training({"--weights", pair})).plan().axes.front().steps.size(), 3u);
}

TEST(SweepWordsTest, WrongWordsAreRefused) {
  EXPECT_THAT(words_refusal({"--repeats", "3"}), HasSubstr("needs an experiment's file or a measuring command"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--batch"})), HasSubstr("'--batch' needs a value"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--batch", "--lr"})), HasSubstr("'--batch' needs a value"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--batch", "16,"})), HasSubstr("'batch' has an empty value in '16,'"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--box-rate", "1"})), HasSubstr("and 'evener train --help'"));
  EXPECT_THAT(words_refusal({"--reapets", "1"}), AllOf(HasSubstr("did you mean '--repeats'"), Not(HasSubstr("train"))));
  EXPECT_THAT(words_refusal({"train", "--lr", "0.1,0.2"}),
              AllOf(HasSubstr("the cell lr=0.1: 'evener train' needs --data"), HasSubstr("evener train --help")));
  EXPECT_THAT(words_refusal(sweep_of_training({"--on", "cpu/q7"})), Not(HasSubstr("the cell"))) << "there is but one";
  EXPECT_THAT(words_refusal(sweep_of_training({"--overwrite"})), HasSubstr("replaces nothing"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--scale", "small"})),
              HasSubstr("--scale names a part of an experiment's file"));
  EXPECT_THAT(words_refusal(sweep_of_training({"--elastic"})), HasSubstr("--elastic goes on with the other replicas"))
      << "as the command's own check has it";
}

TEST(SweepWordsTest, TheFolderIsOfTheCommandAndWhatIsFixed) {
  const auto out = [](const PlanWords& more) { return Asked(sweep_of_training(more)).plan().default_out; };
  EXPECT_THAT(out({}), testing::MatchesRegex("runs/sweep-train-[0-9a-f]+"));
  EXPECT_EQ(out({}).size(), std::string("runs/sweep-train-").size() + 6);
  EXPECT_EQ(out({"--batch", "16,32"}), out({"--batch", "16,32,64"})) << "a new value goes to the same folder";
  EXPECT_NE(out({"--lr", "0.1"}), out({"--lr", "0.2"}));
}

TEST(SweepCells, SwitchesThatAreOffHaveNoWord) {
  SweepPlan plan;
  plan.commands = app::measured_commands();
  plan.command = "train";
  plan.fixed = {{"model", {"resnet20"}}, {"data", {"synth:digits:200"}}, {"momentum", {"0.9"}}};
  plan.axes = {{{"nesterov"}, {{"true"}, {"false"}}}};
  plan.values["nesterov"] = {{"true", {"true"}}, {"false", {"false"}}};
  const auto cells = cells_of(plan);
  EXPECT_THAT(cells[0].words,
              ElementsAre("train", "resnet20", "--data=synth:digits:200", "--momentum=0.9", "--nesterov"));
  EXPECT_THAT(cells[1].words, ElementsAre("train", "resnet20", "--data=synth:digits:200", "--momentum=0.9"));
  plan.fixed["nesterov"] = {"false"};
  plan.axes.clear();
  EXPECT_EQ(cells_of(plan).front().words, cells[1].words);
}

TEST(SweepCells, AreTheSameForTheSameWordsVariablesAndData) {
  const TestFolder folder;
  const std::string data = (folder / "images").string();
  test::write_text(folder / "images" / "a.jpg", "1");
  const auto cell = [&](const PlanWords& before, const PlanWords& more) {
    PlanWords words = before;
    for (const std::string& word : {std::string("train"), std::string("resnet20"), "--data=" + data}) {
      words.push_back(word);
    }
    words.insert(words.end(), more.begin(), more.end());
    return Asked(words).cells().front();
  };
  const record::SweepCell first = cell({"A=1"}, {"--batch=16"});
  EXPECT_EQ(first.key, cell({"A=1"}, {"--batch=16"}).key);
  EXPECT_NE(first.key, cell({"A=2"}, {"--batch=16"}).key);
  EXPECT_NE(first.key, cell({"B=1"}, {"--batch=16"}).key);
  EXPECT_NE(first.key, cell({"A=1"}, {"--batch=32"}).key);
  EXPECT_NE(first.key, cell({}, {"--batch=16"}).key);
  EXPECT_FALSE(first.data.empty());
  EXPECT_EQ(first.folder, "cell-" + first.key.substr(0, 8));
  test::write_text(folder / "images" / "b.jpg", "22");
  const record::SweepCell grown = cell({"A=1"}, {"--batch=16"});
  EXPECT_NE(grown.data, first.data);
  EXPECT_NE(grown.key, first.key);
  EXPECT_EQ(Asked(sweep_of_training({})).cells().front().data, "") << "data that is made up is no file";
}

TEST(SweepKeys, AreOptionsOfTheCommandOrVariables) {
  const MeasuredCommand command = measured_command(app::measured_commands(), "train");
  EXPECT_EQ(option_of_key(command, "batch"), command.options.find("--batch"));
  EXPECT_EQ(option_of_key(command, "model"), command.options.find("MODEL"));
  EXPECT_EQ(option_of_key(command, "$X"), nullptr);
  EXPECT_THAT(plan_refusal([&] { option_of_key(command, "$"); }), HasSubstr("is no environment variable"));
  EXPECT_THAT(plan_refusal([&] { option_of_key(command, "$A=B"); }), HasSubstr("is no environment variable"));
  EXPECT_THAT(plan_refusal([&] { option_of_key(command, "bach"); }), HasSubstr("'batch'"));
  EXPECT_THAT(plan_refusal([&] { option_of_key(command, "dry-ru"); }), Not(HasSubstr("'dry-run'")))
      << "a sweep has its own";
  for (const char* key : {"out", "json", "dry-run", "overwrite", "resume", "quiet", "trace"}) {
    EXPECT_THAT(plan_refusal([&] { option_of_key(command, key); }), HasSubstr("can't be set for the runs of a sweep"))
        << key;
  }
  for (const OptionBase* option : command.options.options()) {
    if (!option->rules().hidden) continue;
    EXPECT_THROW(option_of_key(command, option->key()), UsageError) << option->key();
  }
}

TEST(MeasuredCommands, HaveTheOptionsOfTheirOwn) {
  const std::vector<std::pair<std::string, const char*>> own = {{"train", "--epochs"},         {"infer", "--scenario"},
                                                                {"faces", "--pairs"},          {"detect", "--iou"},
                                                                {"quantize", "--calibration"}, {"matmul", "--repeats"}};
  for (const auto& [name, option] : own) {
    const MeasuredCommand command = measured_command(app::measured_commands(), name);
    EXPECT_EQ(command.name, name);
    EXPECT_NE(command.options.find("--out"), nullptr) << name;
    for (const auto& [of, unused] : own) {
      EXPECT_EQ(measured_command(app::measured_commands(), of).options.find(option) != nullptr, of == name)
          << of << " " << option;
    }
  }
}

TEST(SweepFlagsTest, FillWhatARecordSays) {
  const Asked asked({"--repeats",   "6",  "--warmup",     "2",  "--until",          "ci=2.5%", "--max-runs",   "40",
                     "--prepare",   "p",  "--cleanup",    "c",  "--setup",          "s",       "--cool-down",  "3",
                     "--run-limit", "11", "--time-limit", "12", "--energy-repeats", "4",       "--order-seed", "13",
                     "matmul"});
  record::SweepRecord sweep;
  asked.flags.fill(sweep);
  EXPECT_EQ(sweep.repeats, 6);
  EXPECT_EQ(sweep.warmup, 2);
  EXPECT_DOUBLE_EQ(sweep.until_width.value(), 0.025);
  EXPECT_EQ(sweep.max_runs, 40);
  EXPECT_EQ(sweep.setup + sweep.prepare + sweep.cleanup + sweep.cool_down, "spc3");
  EXPECT_EQ(sweep.run_limit_s, 11);
  EXPECT_EQ(sweep.time_limit_s, 12);
  EXPECT_EQ(sweep.energy_repeats, 4);
  EXPECT_EQ(sweep.order_seed, 13u);
  record::SweepRecord plain;
  Asked({"--repeats", "9", "matmul"}).flags.fill(plain);
  EXPECT_EQ(plain.repeats, 9);
  EXPECT_FALSE(plain.until_width);
}

std::string checked(const PlanWords& words) {
  return plan_refusal([&] {
    const Asked asked(words);
    asked.flags.check();
    throw UsageError("good");
  });
}

TEST(SweepFlagsTest, GoTogether) {
  EXPECT_EQ(checked({"--repeats", "1", "matmul"}), "good");
  EXPECT_EQ(checked({"--until", "ci=2%", "--repeats", "5", "matmul"}), "good");
  EXPECT_EQ(checked({"--until", "ci=100%", "matmul"}), "good");
  EXPECT_THAT(checked({"--until", "ci=2%", "--repeats", "4", "matmul"}), HasSubstr("and 4 are too few"));
  EXPECT_THAT(checked({"--until", "ci=3", "matmul"}), HasSubstr("such as ci=3%"));
  EXPECT_THAT(checked({"--steady", "0.05", "matmul"}), HasSubstr("such as 0.05% (a share of 0.05 is 5%)"));
  EXPECT_EQ(checked({"--until", "ci=2%", "--max-runs", "8", "--repeats", "8", "matmul"}), "good");
  EXPECT_THAT(checked({"--until", "ci=2%", "--max-runs", "8", "--repeats", "9", "matmul"}),
              HasSubstr("--max-runs 8 is less than --repeats 9"));
  EXPECT_EQ(checked({"--max-runs", "8", "--repeats", "9", "matmul"}), "good") << "nothing asks for more";
  for (const char* width : {"ci=0%", "ci=100.5%", "ci=-1%", "2%", "ci=", "ci=nan%"}) {
    EXPECT_THAT(checked({"--until", width, "matmul"}), HasSubstr("it has to be ci=P%")) << width;
  }
}

}  // namespace
}  // namespace evener::sweeps
