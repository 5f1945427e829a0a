// The description of options: what is read, checked, recorded and kept, and what a TOML file may say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "options/option.h"
#include "train/learning_options.h"

namespace evener {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

struct OvenFlags : OptionGroup {
  OvenFlags() : OptionGroup("Oven") {}

  Option<std::string> dish{*this, "DISH DISH", rules().needed(), "What is baked"};
  Option<double> degrees{*this, "--degrees DEGREES", 180, within(more_than_zero()).kept_as("degrees", true), "How hot"};
  Option<std::optional<int>> racks{*this, "--racks N", within(from_to(1, 4)), "How many"};
  Option<std::uint64_t> number{*this, "--number N", 1, rules().not_recorded(), "Of the oven"};
  Option<std::string> heat{*this, "--heat NAME", "both", one_of({"top", "bottom", "both"}).kept_as("heat/from"),
                           "From where"};
  Option<double> fan{*this, "--fan SHARE", 0, within(share()).kept_as("heat/fan"), "How fast"};
  Option<bool> steam{*this, "--steam", rules().not_in_plans().called({"--vapour"}), "With water"};
  Option<std::string> dough{*this, {"--dough", "NAME", "All of them"}, "", {.recorded = false, .joint = " + "}};
  Option<std::vector<std::string>> spices{*this, "--spice NAME", rules().kept_as("spices"), "May be repeated"};

 private:
  void check_together() const override {
    if (*steam && *degrees > 200) throw UsageError("--steam goes up to 200 degrees");
  }
};

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Option, ReadsValuesOfItsType) {
  OvenFlags oven;
  EXPECT_FALSE(oven.degrees.given());
  oven.degrees.read({"220.5"});
  oven.racks.read({"2"});
  oven.number.read({"18446744073709551615"});
  oven.steam.read({"true"});
  oven.spices.read({"salt", "dill"});
  EXPECT_EQ(*oven.degrees, 220.5);
  EXPECT_EQ(*oven.racks, 2);
  EXPECT_EQ(*oven.number, 18446744073709551615U);
  EXPECT_TRUE(*oven.steam);
  EXPECT_THAT(*oven.spices, ElementsAre("salt", "dill"));
  EXPECT_TRUE(oven.degrees.given());
  EXPECT_FALSE(oven.heat.given());
}

TEST(Option, MayJoinWhatItIsGivenSeveralTimes) {
  OvenFlags oven;
  oven.dough.read({"rye"});
  EXPECT_EQ(*oven.dough, "rye");
  oven.dough.read({"rye", "oats"});
  EXPECT_EQ(*oven.dough, "rye + oats");
  GivenWords words;
  oven.tell_words(words);
  OvenFlags resumed;
  resumed.inherit(words);
  EXPECT_EQ(*resumed.dough, "rye + oats");
}

TEST(Option, SaysWhatAValueIsNot) {
  OvenFlags oven;
  EXPECT_EQ(error_of([&] { oven.degrees.read({"hot"}); }), "--degrees 'hot' is not a number, or is too large");
  for (const char* wrong : {"1.5", "1x", "", "99999999999"}) {
    EXPECT_EQ(error_of([&] { oven.racks.read({wrong}); }),
              "--racks '" + std::string(wrong) + "' is not a whole number, or is too large");
  }
  EXPECT_EQ(error_of([&] { oven.number.read({"-1"}); }),
            "--number '-1' is not a whole number, 0 or more, or is too large");
}

TEST(Option, ChecksRangesAndNames) {
  const auto error = [](const std::function<void(OvenFlags&)>& set) {
    OvenFlags oven;
    set(oven);
    return error_of([&] { oven.check(); });
  };
  EXPECT_EQ(error([](OvenFlags&) {}), "no error");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.degrees.read({"0"}); }), "--degrees is 0; it has to be more than 0");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.degrees.read({"nan"}); }), "--degrees is nan; it has to be more than 0");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.racks.read({"5"}); }), "--racks is 5; it has to be from 1 to 4");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.racks.read({"4"}); }), "no error");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.fan.read({"1"}); }), "--fan is 1; it has to be a share, such as 0.9");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.fan.read({"0.99"}); }), "no error");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.heat.read({"botom"}); }),
            "unknown heat 'botom'; did you mean 'bottom'? Known: top, bottom, both");
  EXPECT_EQ(error([](OvenFlags& oven) { oven.steam.read({"true"}), oven.degrees.read({"201"}); }),
            "--steam goes up to 200 degrees");
}

TEST(Option, SaysWhatItTakesAndItsDefault) {
  OvenFlags oven;
  EXPECT_EQ(oven.degrees.value_words(), "a number");
  EXPECT_EQ(oven.degrees.default_text(), "180");
  EXPECT_EQ(oven.racks.value_words(), "a whole number");
  EXPECT_EQ(oven.racks.default_text(), "");
  EXPECT_EQ(oven.racks.words().value + oven.steam.words().value + oven.racks.words().help, "NHow many");
  EXPECT_TRUE(oven.steam.is_called_elsewhere("--vapour"));
  EXPECT_EQ(oven.heat.value_words(), "one of top, bottom, both");
  oven.heat.preset("top");
  EXPECT_EQ(oven.heat.default_text(), "top");
  EXPECT_EQ(*oven.heat, "top");
}

TEST(OptionGroup, RecordsValuesUnderTheirKeys) {
  OvenFlags oven;
  oven.dish.read({"bread"});
  oven.racks.record_as([&](json& value) { value = oven.racks->value_or(1); });
  json config = json::object();
  oven.record(config);
  EXPECT_EQ(config, (json{{"dish", "bread"},
                          {"degrees", 180.0},
                          {"racks", 1},
                          {"heat", "both"},
                          {"fan", 0.0},
                          {"steam", false},
                          {"spice", json::array()}}));
}

TEST(OptionGroup, KeepsWhatWasChosenForAResumedRun) {
  OvenFlags usual;
  json settings = json::object();
  usual.keep(settings);
  EXPECT_EQ(settings, (json{{"degrees", 180.0}, {"heat", nullptr}, {"spices", nullptr}}));
  OvenFlags chosen;
  chosen.heat.read({"top"});
  chosen.fan.read({"0.5"});
  chosen.spices.read({"dill"});
  chosen.degrees.stay_as([](json& value) { value = "hot"; });
  settings = json::object();
  chosen.keep(settings);
  EXPECT_EQ(settings, (json{{"degrees", "hot"}, {"heat", {{"from", "top"}, {"fan", 0.5}}}, {"spices", {"dill"}}}));
}

TEST(OptionSet, LeavesOutWhatACommandHasNoUseFor) {
  OvenFlags oven;
  OptionSet set{&oven};
  EXPECT_EQ(set.find("--steam"), &oven.steam);
  set.leave_out([](const OptionBase& option) { return !option.rules().in_plans; });
  EXPECT_EQ(set.find("--steam"), nullptr);
  EXPECT_EQ(set.find("--fan"), &oven.fan);
  EXPECT_EQ(set.options().size(), oven.options().size() - 1);
}

TEST(ConfigFile, IsReadByTheDescriptionOfTheOptions) {
  const test::TestFolder folder;
  const auto read = [&](const std::string& text) {
    write_file_atomically(folder / "oven.toml", text);
    OvenFlags oven;
    const ConfigValues values = read_config(folder / "oven.toml", {&oven}, "bake");
    std::vector<std::string> words = values.positionals;
    for (const auto& option : values.options) words.insert(words.end(), option.words.begin(), option.words.end());
    return words;
  };
  EXPECT_THAT(read("dish = 'bread'\ndegrees = 220\nsteam = true\nspice = ['salt', 'dill']\n"),
              testing::UnorderedElementsAre("bread", "--degrees=220", "--steam", "--spice=salt", "--spice=dill"));
  EXPECT_THAT(read("steam = false\n"), ElementsAre());
  EXPECT_THAT(read("dough = ['rye', 'oats']\n"), ElementsAre("--dough=rye", "--dough=oats"));
  EXPECT_THAT(error_of([&] { read("dish = 'bread'\nracks = [1, 2]\n"); }),
              HasSubstr("line 2: 'racks' takes one value"));
  EXPECT_THAT(error_of([&] { read("degres = 3\n"); }), HasSubstr("did you mean 'degrees'?"));
  EXPECT_THAT(error_of([&] { read("[oven]\n"); }), HasSubstr("unknown key 'oven'"));
}

TEST(Option, GivenTwiceIsRefusedUnlessAllOfItCounts) {
  OvenFlags oven;
  const OptionSet options{&oven};
  options.give("--racks", {"2"});
  EXPECT_EQ(error_of([&] { options.give("--racks", {"3"}); }), "--racks is given twice, 2 and 3: give it once");
  EXPECT_EQ(error_of([&] {
              oven.heat.read({"top", "both", "top"});
            }),
            "--heat is given 3 times, top, both and top: give it once");
  for (const char* word : {"salt", "dill"}) options.give("--spice", {word});
  for (const char* word : {"rye", "oats"}) options.give("--dough", {word});
  for (const char* word : {"true", "true"}) options.give("--steam", {word});
  EXPECT_THAT(*oven.spices, ElementsAre("salt", "dill"));
  EXPECT_EQ(*oven.dough, "rye + oats");
  EXPECT_TRUE(*oven.steam) << "both say the same";
}

struct LossFlags : OptionGroup {
  LossFlags() : OptionGroup("Loss") {}
  Option<Percentage> kept{*this, "--kept P%", {99.5}, within(percent_from_to(50, 100)), "What stays"};
  Option<std::optional<Percentage>> lost{*this, "--lost P%", "What goes"};
};

TEST(Option, APercentageHasItsSign) {
  LossFlags loss;
  EXPECT_EQ(loss.kept.default_text(), "99.5%");
  const auto refusal = [&](const char* text) { return error_of([&] { loss.lost.read({text}); }); };
  EXPECT_THAT(refusal("5"), testing::EndsWith("a percentage with its sign, such as 5%"));
  EXPECT_THAT(refusal("0.5"), testing::EndsWith("such as 0.5% (a share of 0.5 is 50%)"));
  EXPECT_THAT(refusal("much"),
              testing::EndsWith("--lost is 'much'; it has to be a percentage with its sign, such as 5%"));
  loss.lost.read({"2.5%"});
  EXPECT_EQ((*loss.lost)->share(), 0.025);
  loss.kept.read({"49%"});
  EXPECT_EQ(error_of([&] { loss.check(); }), "--kept is 49%; it has to be from 50% to 100%");
  json config;
  loss.record(config);
  EXPECT_EQ(config, (json{{"kept", "49%"}, {"lost", "2.5%"}}));
}

struct TapFlags : OptionGroup {
  TapFlags() : OptionGroup("Tap") {}
  Option<std::optional<std::string>> open{*this, "--open [HOW]", "It may stand alone"};
  Option<std::string> name{*this, "--name NAME", rules().not_inherited(), "Which"};
};

TEST(Option, MayHaveAValueOrStandAlone) {
  TapFlags tap;
  EXPECT_FALSE(tap.open->has_value());
  tap.open.read({""});
  EXPECT_EQ(*tap.open, "");
  tap.open.read({"slowly"});
  EXPECT_EQ(*tap.open, "slowly");
  EXPECT_EQ(tap.open.kind(), ValueKind::kSwitchOrOne);
}

TEST(OptionGroup, InheritsWhatIsNotGiven) {
  OvenFlags before, after;
  before.dish.read({"Br\xE4tling"});  // not UTF-8
  before.degrees.read({"150"});
  before.spices.read({"salt", "dill"});
  before.steam.read({"true"});
  after.degrees.read({"190"});
  GivenWords words;
  before.tell_words(words);
  EXPECT_EQ(words.size(), 4u) << "only what was given";
  after.inherit(json::parse(json(words).dump()).get<GivenWords>());
  EXPECT_EQ(*after.dish, "Br\xE4tling");
  EXPECT_EQ(*after.degrees, 190);
  EXPECT_THAT(*after.spices, ElementsAre("salt", "dill"));
  EXPECT_TRUE(*after.steam);
  EXPECT_FALSE(after.racks->has_value());
}

TEST(OptionGroup, KeepsWhatIsForOneCallAlone) {
  TapFlags before, after;
  before.name.read({"left"});
  GivenWords words;
  before.tell_words(words);
  EXPECT_TRUE(words.empty());
  after.inherit({{"name", {"right"}}});
  EXPECT_EQ(*after.name, "");
}

TEST(OptimisationFlags, TheBatchIsANumberOrMax) {
  const auto size_of = [](const std::string& text) {
    training::OptimisationFlags flags;
    flags.batch.read({text});
    return flags.batch_size();
  };
  EXPECT_EQ(size_of("1"), 1);
  EXPECT_EQ(size_of("1000000"), 1'000'000);
  EXPECT_EQ(size_of("max"), std::nullopt);
  const auto refusal = [&](const std::string& text) { return error_of([&] { size_of(text); }); };
  EXPECT_EQ(refusal("maxi"), "--batch 'maxi' is not a whole number, and not max");
  EXPECT_THAT(refusal("3.5"), HasSubstr("'3.5' is not a whole number"));
  EXPECT_EQ(refusal("0"), "--batch is 0; it has to be more than 0");
  EXPECT_THAT(refusal("-1"), HasSubstr("--batch is -1"));
  EXPECT_THAT(refusal("1000001"), HasSubstr("the most is 1000000"));
  EXPECT_THAT(refusal("99999999999999999999"), HasSubstr("the most is 1000000"));
}

}  // namespace
}  // namespace evener
