// Meters of users: the commands that read them, what becomes of their answers and units, and when they are asked.
#include "measure/sensors/outside_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/error.h"
#include "measure/energy_meter.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kPatience_s = 20;

Answer answer_of(Poller& poller) {
  for (int n = 0; n < 100; ++n) {
    Answer answer = poller.poll(0.1);
    if (!answer.text.empty() || !answer.error.empty()) return answer;
  }
  return {.text = "", .error = "the test waited in vain"};
}

std::string command_says(const std::string& command) {
  const Answer answer = answer_of(*ask_command(command, kPatience_s));
  return answer.error.empty() ? answer.text : "(" + answer.error + ")";
}

TEST(CommandQuestions, AnAnswerIsAllOfStdoutAndNothingElse) {
  EXPECT_EQ(command_says("printf 12; sleep 0.02; printf 34.5"), "1234.5");
  EXPECT_EQ(command_says("echo 9 >&2; echo 7"), "7\n");
  EXPECT_EQ(command_says("cat; echo 5"), "5\n") << "nothing comes on stdin";
  EXPECT_EQ(command_says("head -c 10000 /dev/zero | tr '\\0' 7").size(), 10'000U);
  EXPECT_THAT(command_says("echo 5; exit 3"), AllOf(HasSubstr("exit code 3"), Not(HasSubstr("said nothing"))));
  EXPECT_THAT(command_says("true"), HasSubstr("exit code 0 and said nothing"));
  EXPECT_THAT(command_says("kill -9 $$"), HasSubstr("was killed"));
}

TEST(CommandQuestions, EachLookRunsItAgain) {
  const auto poller = ask_command("echo $$", kPatience_s);
  const double before_s = boot_now_s();
  const Answer first = answer_of(*poller), second = answer_of(*poller);
  EXPECT_NE(first.text, second.text);
  EXPECT_GE(first.at_s, before_s);
  EXPECT_LE(first.at_s, second.at_s);
  EXPECT_LE(second.at_s, boot_now_s());
}

TEST(CommandMeter, OneThatHangsIsEndedWithAllThatItStarted) {
  const auto poller = ask_command("sleep 100; echo 5", 0.2);
  Answer answer;
  for (int n = 0; n < 50 && answer.error.empty(); ++n) answer = poller->poll(0.05);
  EXPECT_THAT(answer.error, HasSubstr("longer than 0.2 s"));
}

std::string refusal_of(const std::string& meter) {
  try {
    open_meter(meter);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The next reading with a value or with error.
Reading next_reading(EnergySensor& sensor) {
  for (int n = 0; n < 20; ++n) {
    Reading reading = sensor.read(1).at(0);  // as at the ends of a run
    if (reading.watts || reading.count || !reading.error.empty()) return reading;
  }
  return {};
}

TEST(MeterSpec, IsReadAndWrongWordsAreRefused) {
  const MeterSpec shelly = parse_meter("run:curl -s http://10.0.0.5/rpc/Switch.GetStatus?id=0#aenergy.total=Wh");
  EXPECT_EQ(shelly.command, "curl -s http://10.0.0.5/rpc/Switch.GetStatus?id=0");
  EXPECT_EQ(shelly.path, "aenergy.total");
  EXPECT_TRUE(shelly.is_energy);
  EXPECT_EQ(shelly.factor, 3600);
  const MeterSpec command = parse_meter("run:read-meter --port /dev/ttyUSB0");
  EXPECT_EQ(command.command, "read-meter --port /dev/ttyUSB0");
  EXPECT_FALSE(command.is_energy);
  EXPECT_EQ(parse_meter("run:tail -n 1 log#power=mW").factor, 1e-3);
  for (const char* wrong : {"", "10.0.0.5", "run:", "http://a/#x", "csv:log.csv", "run:x#x=hp"}) {
    EXPECT_THROW(parse_meter(wrong), UsageError) << wrong;
  }
  EXPECT_THAT(refusal_of("http://10.0.0.5/#a"), HasSubstr("run:'curl -s ADDRESS'"));
}

TEST(MeterRules, WordsOfAMeterSplitAtTheirLastMarks) {
  const MeterSpec hash = parse_meter("run:echo '#5'#power=kW");
  EXPECT_EQ(hash.command, "echo '#5'");
  EXPECT_EQ(hash.path, "power");
  EXPECT_DOUBLE_EQ(hash.factor, 1000);
  EXPECT_EQ(hash.unit, "kW");
  const MeterSpec equals = parse_meter("run:b#x=y=J");
  EXPECT_EQ(equals.path, "x=y");
  EXPECT_TRUE(equals.is_energy);
  EXPECT_EQ(equals.factor, 1);
  EXPECT_EQ(parse_meter("run:b").unit, "W");
  EXPECT_EQ(parse_meter("run:b").path, "");
  EXPECT_EQ(parse_meter("run:b#t=kWh").factor, 3.6e6);
  EXPECT_EQ(find_meter_unit("w"), nullptr);
  EXPECT_EQ(find_meter_unit(""), nullptr);
}

TEST(MeterValue, IsFoundInJsonAndInText) {
  EXPECT_EQ(value_in(R"({"meters":[{"power":1},{"power":52.5}]})", "meters.1.power"), 52.5);
  EXPECT_EQ(value_in(R"({"StatusSNS":{"ENERGY":{"Power":61}}})", "StatusSNS.ENERGY.Power"), 61);
  EXPECT_EQ(value_in("48.25\n", ""), 48.25);
  EXPECT_EQ(value_in("    Instantaneous power reading:                   220 Watts\n    Minimum: 10 Watts",
                     "Instantaneous power reading"),
            220);
  try {
    value_in(R"({"meters":[], "relays":1})", "power");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'power'"));
    EXPECT_THAT(error.what(), HasSubstr("meters, relays"));
  }
  EXPECT_THROW(value_in(R"({"power":"much"})", "power"), Error);
  EXPECT_THROW(value_in("no number", ""), Error);
}

TEST(MeterRules, ValuesStandWhereTheirPathLeads) {
  const std::pair<std::array<const char*, 2>, double> rows[] = {
      {{R"([5, 7])", "1"}, 7},   {{R"({"a":{"b":[1,{"c":-2.5}]}})", "a.b.1.c"}, -2.5},
      {{"12.5", ""}, 12.5},      {{"power -3 W", ""}, -3},
      {{"b 5, a 7", "a"}, 7},    {{"a: 1.5e-1 W", "a"}, 0.15},
      {{"2e", ""}, 2},           {{"3E+1x", ""}, 30},
      {{"L1 230 V", "L1"}, 230},
  };
  for (const auto& [text, value] : rows) EXPECT_DOUBLE_EQ(value_in(text[0], text[1]), value) << text[0];
  const auto why = [](const char* text, const char* path) -> std::string {
    try {
      return std::to_string(value_in(text, path));
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(why(R"([5, 7])", "2"), HasSubstr("no '2'"));
  EXPECT_THAT(why(R"({"a":{"b":1}})", "a.c"), AllOf(HasSubstr("no 'c' in 'a'"), HasSubstr("there are b")));
  EXPECT_THAT(why(R"({"a":5})", "a.b"), HasSubstr("no 'b' in 'a'"));
  EXPECT_THAT(why(R"({"a":"x"})", "a"), HasSubstr("'a' in its answer is no number"));
  EXPECT_THAT(why("b 5", "a"), HasSubstr("neither JSON nor"));
  EXPECT_THAT(why("b 5 a", "a"), HasSubstr("no number"));
  std::string unit;
  value_in("power 5   Watts,", "power", &unit);
  EXPECT_EQ(unit, "Watts");
  value_in("power 5kW", "power", &unit);
  EXPECT_EQ(unit, "kW");
  value_in("5", "", &unit);
  EXPECT_EQ(value_in("5;", "", &unit), 5);
  EXPECT_EQ(unit, "");
}

TEST(MeterValue, NumbersAreReadAsTheyAreWrittenElsewhere) {
  const std::pair<const char*, double> rows[] = {{"42", 42},
                                                 {"61.5", 61.5},
                                                 {"60,5", 60.5},
                                                 {"-60,5", -60.5},
                                                 {"1.234", 1.234},
                                                 {"1234.567", 1234.567},
                                                 {"1234,567", 1234.567},
                                                 {"1.2345", 1.2345},
                                                 {"1,234,567", 1234567},
                                                 {"-1,234,567", -1234567},
                                                 {"1.234.567", 1234567},
                                                 {"1,234.50", 1234.5},
                                                 {"1.234,50", 1234.5},
                                                 {"-1,234.5", -1234.5},
                                                 {"1.234.567,25", 1234567.25},
                                                 {"6.15e1", 61.5},
                                                 {"1.500E3", 1500},
                                                 {"5e2", 500}};
  for (const auto& [text, number] : rows) EXPECT_DOUBLE_EQ(value_in(std::string("P ") + text, "P"), number) << text;
  const auto why = [](const std::string& text) -> std::string {
    try {
      return "it is " + std::to_string(value_in("P " + text, "P"));
    } catch (const Error& error) {
      return error.what();
    }
  };
  for (const char* wrong : {"12,34,567", "1.2.3", "1234,567,890", "12,34.5", "1.234.5,6,7", "1,2.3.4", "6,15e1"}) {
    EXPECT_THAT(why(wrong), HasSubstr("is no number")) << wrong;
  }
  EXPECT_THAT(why("1,234"), HasSubstr("may be 1234 or 1.234"));
  EXPECT_THAT(why("-1,234"), HasSubstr("may be -1234 or -1.234"));
}

TEST(CommandMeter, ReadsNumbersAsTheyAreWrittenElsewhere) {
  EXPECT_EQ(value_in("power 1,234.50, voltage 230", "power"), 1234.5);
  EXPECT_EQ(value_in("it draws 61.", ""), 61);
  const auto watts = [](const std::string& words, const char* unit) {
    return next_reading(*open_meter("run:echo " + words + "#=" + unit)).watts;
  };
  EXPECT_EQ(watts("0.0615 kW", "W"), 61.5);
  EXPECT_EQ(watts("61.5 Watts", "W"), 61.5);
  EXPECT_THAT(refusal_of("run:echo 61.5 kWh#=W"), HasSubstr("in kWh, not in W"));
}

TEST(CommandMeter, ReadsWhatACommandSays) {
  const auto sensor = open_meter("run:echo 42.5#");
  EXPECT_EQ(next_reading(*sensor).watts, 42.5);
  EXPECT_THAT(refusal_of("run:exit 3"), HasSubstr("exit code 3"));
  EXPECT_THAT(refusal_of("run:/nonexistent/read-meter"), HasSubstr("exit code 127"));
}

TEST(MeterUnits, AreWhatTheInternationalSystemSays) {
  const auto joules_of_one = [](const char* unit) {
    const auto sensor = open_meter(std::string("run:echo 1#=") + unit);
    return static_cast<double>(next_reading(*sensor).count.value_or(0)) * sensor->channels()[0].joules_per_count;
  };
  EXPECT_DOUBLE_EQ(joules_of_one("J"), 1);
  EXPECT_DOUBLE_EQ(joules_of_one("Wh"), 60 * 60);
  EXPECT_DOUBLE_EQ(joules_of_one("kWh"), 1000.0 * 60 * 60);
  for (const auto& [unit, watts] : {std::pair{"W", 1.0}, {"mW", 0.001}, {"kW", 1000.0}}) {
    EXPECT_DOUBLE_EQ(find_meter_unit(unit)->factor, watts);
    EXPECT_FALSE(find_meter_unit(unit)->is_energy);
  }
}

TEST(CommandMeter, TellsPowerOrEnergyOfTheWholeMachine) {
  const std::string says = R"(run:echo '{"apower": 52.5, "aenergy": {"total": 11.5}}'#)";
  EXPECT_EQ(next_reading(*open_meter(says + "apower")).watts, 52.5);
  const auto energy = open_meter(says + "aenergy.total=Wh");
  EXPECT_EQ(next_reading(*energy).count, 11'500u * 3600);
  EXPECT_EQ(energy->channels()[0].covers, record::Covers::kMachine);
  EXPECT_THAT(refusal_of(says + "power"), HasSubstr("no 'power'"));
  EXPECT_THAT(refusal_of(R"(run:echo '{"power": -5}'#power)"), HasSubstr("-5 W"));
  EXPECT_THAT(refusal_of("run:echo '<html>login</html>'#power"), HasSubstr("neither JSON nor"));
}

TEST(CommandMeter, ALateAnswerIsOfTheMiddleOfAskingAndAnswering) {
  const auto poller = ask_command("sleep 0.4; echo 10", kPatience_s);
  const double asked_s = boot_now_s();
  const Answer answer = answer_of(*poller);
  const double answered_s = boot_now_s();
  // However long others take the processor in between.
  EXPECT_GT(answer.at_s, asked_s + 0.19);
  EXPECT_LT(answer.at_s, answered_s - 0.19);
}

/// Says 100 W until it falls silent.
class SilencedMeter final : public Poller {
 public:
  SilencedMeter(std::function<double()> now_s, const bool& is_silent)
      : now_s_(std::move(now_s)), is_silent_(is_silent) {}
  Answer poll(double /*wait_s*/) override {
    return is_silent_ ? Answer{} : Answer{.text = "100", .error = "", .at_s = now_s_()};
  }

 private:
  const std::function<double()> now_s_;
  const bool& is_silent_;
};

TEST(CommandMeter, AMeterThatFallsSilentLeavesTheEnergyInvalid) {
  test::TurnedClock clock;
  bool is_silent = false;
  EnergyMeter meter(
      test::only(std::make_unique<AskedMeter>("--meter", "wall", parse_meter("run:x"), 0,
                                              std::make_unique<SilencedMeter>(clock.reader(), is_silent))),
      clock.reader());
  for (int n = 0; n < 10; ++n) {
    meter.poll(1);
    clock.turn(1);
  }
  EXPECT_NEAR(meter.energy(10).joules.value_or(0), 1000, 101) << "up to a second before the last reading";
  is_silent = true;
  for (int n = 0; n < 10; ++n) {
    meter.poll(0.01);
    clock.turn(1);
  }
  EXPECT_EQ(meter.energy(20).joules, std::nullopt);
  EXPECT_THAT(meter.energy(20).reason, HasSubstr("said nothing for"));
}

/// Gives the answers that it was made with, one a look, and nothing after them.
class ListedAnswers final : public Poller {
 public:
  ListedAnswers(std::deque<Answer> answers, int& looks) : answers_(std::move(answers)), looks_(looks) {}
  Answer poll(double /*wait_s*/) override {
    ++looks_;
    if (answers_.empty()) return {};
    Answer answer = answers_.front();
    answers_.pop_front();
    return answer;
  }

 private:
  std::deque<Answer> answers_;
  int& looks_;
};

class AskedMeterRules : public ::testing::Test {
 protected:
  /// The first answer is that which the meter is opened with.
  std::unique_ptr<AskedMeter> meter(std::deque<Answer> answers, const std::string& spec = "run:x#power",
                                    double every_s = 1000) {
    return std::make_unique<AskedMeter>("--meter", "wall", parse_meter(spec), every_s,
                                        std::make_unique<ListedAnswers>(std::move(answers), looks_));
  }
  int looks_ = 0;
};

Answer says(const std::string& text, double at_s = 5) {
  return {.text = text, .error = "", .at_s = at_s};
}

TEST_F(AskedMeterRules, ValuesComeInTheUnitThatWasAskedForOrThatStandsBesideThem) {
  struct Row {
    const char *spec, *text;
    double watts;         // below zero: a counter
    std::uint64_t count;  // of thousandths of a joule
  };
  const Row rows[] = {
      {"run:x#power", R"({"power":250})", 250, 0},
      {"run:x#power=mW", R"({"power":250})", 0.25, 0},
      {"run:x#power=kW", R"({"power":0.25})", 250, 0},
      {"run:x#=W", "0.25 kW", 250, 0},
      {"run:x#=mW", "61.5", 0.0615, 0},
      {"run:x#=mW", "61.5 W", 61.5, 0},
      {"run:x#=W", "61.5 hp", 61.5, 0},
      {"run:x#e=J", R"({"e":2.5})", -1, 2500},
      {"run:x#e=Wh", R"({"e":2})", -1, 7'200'000},
      {"run:x#e=kWh", R"({"e":0.001})", -1, 3'600'000},
      {"run:x#=Wh", "0.002 kWh", -1, 7'200'000},
      {"run:x#=kWh", "7200 J", -1, 7'200'000},
      {"run:x#power", R"({"power":0})", 0, 0},
  };
  for (const Row& row : rows) {
    const auto meter = this->meter({says(row.text), says(row.text, 17.5)}, row.spec);
    ASSERT_EQ(meter->refusal(), "") << row.spec;
    const Reading reading = meter->read(1).at(0);
    EXPECT_EQ(reading.at_s, 17.5) << row.spec;
    if (row.watts >= 0) {
      ASSERT_TRUE(reading.watts.has_value()) << row.spec << " " << reading.error;
      EXPECT_DOUBLE_EQ(*reading.watts, row.watts) << row.spec;
      EXPECT_EQ(reading.count, std::nullopt) << row.spec;
      EXPECT_EQ(meter->channels().at(0).joules_per_count, 0) << row.spec;
      EXPECT_THAT(meter->channels()[0].note, HasSubstr("summed over time"));
    } else {
      EXPECT_EQ(reading.count, row.count) << row.spec << " " << reading.error;
      EXPECT_EQ(reading.watts, std::nullopt) << row.spec;
      EXPECT_DOUBLE_EQ(meter->channels().at(0).joules_per_count, 1e-3) << row.spec;
      EXPECT_EQ(meter->channels()[0].note, "");
    }
  }
}

TEST_F(AskedMeterRules, IsAskedAgainWhenItsTimeHasComeOrAtTheEnds) {
  const auto meter = this->meter({says(R"({"power":1})"),
                                  says(R"({"power":2})"),
                                  says(R"({"power":3})"),
                                  {.text = "", .error = "it is gone"},
                                  says(R"({"power":5})")});
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(meter->read(0).at(0).watts, 2);
  EXPECT_EQ(meter->read(0.99).at(0).watts, std::nullopt) << "it was asked a moment ago";
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(meter->read(1).at(0).watts, 3) << "at an end of the run";
  EXPECT_EQ(meter->read(1).at(0).error, "it is gone");
  EXPECT_EQ(looks_, 4);
  EXPECT_EQ(meter->read(0).at(0).error, "") << "error is an answer, too";
  EXPECT_EQ(looks_, 4);
  const auto often = this->meter({says("1"), says("2"), says("3")}, "run:x", 0);
  EXPECT_EQ(often->read(0).at(0).watts, 2);
  EXPECT_EQ(often->read(0).at(0).watts, 3);
}

TEST_F(AskedMeterRules, WithoutAnAnswerYetItIsLookedForAtOnce) {
  const auto meter = this->meter({says("1"), {}, {}, says("4")}, "run:x");
  EXPECT_EQ(meter->read(0).at(0).watts, std::nullopt);
  EXPECT_EQ(meter->read(0).at(0).watts, std::nullopt);
  EXPECT_EQ(meter->read(0).at(0).watts, 4);
}

TEST_F(AskedMeterRules, OneThatSaysNothingOrNonsenseIsRefused) {
  EXPECT_THAT(meter({})->refusal(), HasSubstr("did not answer within 5 s"));
  EXPECT_THAT(meter({{.text = "", .error = "no way there"}})->refusal(), HasSubstr("no way there"));
  EXPECT_THAT(meter({says(R"({"power":-0.5})")})->refusal(), HasSubstr("it said -0.5 W"));
  EXPECT_THAT(meter({says("5 Wh")}, "run:x#=W")->refusal(), HasSubstr("in Wh, not in W"));
  EXPECT_THAT(meter({says("5 W")}, "run:x#=J")->refusal(), HasSubstr("in W, not in J"));
  const auto refused = meter({says("nothing")}, "run:x");
  EXPECT_THAT(refused->refusal(), HasSubstr("no number"));
  EXPECT_THAT(refused->channels(), IsEmpty());
  EXPECT_THAT(refused->read(1), IsEmpty());
}

TEST_F(AskedMeterRules, AChannelIsAsFineAsTheMeterIsAsked) {
  EXPECT_EQ(meter({says("1")}, "run:x", 2)->channels().at(0).step_s, 2);
  EXPECT_EQ(meter({says("1")}, "run:x", 0.45)->channels().at(0).step_s, 1) << "as fine as such meters are";
  EXPECT_EQ(meter({says("1")}, "run:x")->channels()[0].name, "wall");
  EXPECT_EQ(meter({says("1")}, "run:x")->channels()[0].covers, record::Covers::kMachine);
}

TEST(Ipmi, WithoutItsDeviceIsNotAsked) {
  const test::TestFolder nothing;
  EXPECT_THAT(open_ipmi(nothing.path().string())->refusal(), HasSubstr("ipmi0"));
}

}  // namespace
}  // namespace evener::measure
