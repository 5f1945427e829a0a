// Meters of users under made-up answers: when they are asked, what becomes of their units and clocks, and rows of files
// that come one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <deque>
#include <fstream>

#include "base/error.h"
#include "measure/sensors/outside_meter.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
  std::unique_ptr<AskedMeter> meter(std::deque<Answer> answers, const std::string& spec = "http://a/#power",
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
      {"http://a/#power", R"({"power":250})", 250, 0},
      {"http://a/#power=mW", R"({"power":250})", 0.25, 0},
      {"http://a/#power=kW", R"({"power":0.25})", 250, 0},
      {"run:x#=W", "0.25 kW", 250, 0},
      {"run:x#=mW", "61.5", 0.0615, 0},
      {"run:x#=mW", "61.5 W", 61.5, 0},
      {"run:x#=W", "61.5 hp", 61.5, 0},
      {"http://a/#e=J", R"({"e":2.5})", -1, 2500},
      {"http://a/#e=Wh", R"({"e":2})", -1, 7'200'000},
      {"http://a/#e=kWh", R"({"e":0.001})", -1, 3'600'000},
      {"run:x#=Wh", "0.002 kWh", -1, 7'200'000},
      {"run:x#=kWh", "7200 J", -1, 7'200'000},
      {"http://a/#power", R"({"power":0})", 0, 0},
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

/// The seconds by which a note says that a clock goes ahead.
double seconds_ahead(const std::string& note) {
  const std::string before = "its clock is ";
  const std::size_t at = note.find(before);
  return at == std::string::npos ? -1e9 : std::stod(note.substr(at + before.size()));
}

TEST_F(AskedMeterRules, AClockThatGoesAheadIsToldAsSuchAndItsReadingsAveraged) {
  const auto ahead = [](const std::string& text, double seconds) {
    Answer answer = says(text);
    answer.their_clock_s = static_cast<double>(time(nullptr)) + seconds;
    return answer;
  };
  const auto meter = this->meter({ahead("1", 100), ahead("2", 400)}, "run:x");
  EXPECT_NEAR(seconds_ahead(meter->channels().at(0).note), 100, 30);
  meter->read(1);
  EXPECT_NEAR(seconds_ahead(meter->channels()[0].note), 250, 30) << "the mean of both";
  EXPECT_THAT(meter->channels()[0].note, HasSubstr("power, summed over time; its clock"));
  const auto behind = this->meter({ahead("1", -1000)}, "run:x#=J");
  EXPECT_NEAR(seconds_ahead(behind->channels().at(0).note), -1000, 30);
  EXPECT_THAT(behind->channels()[0].note, Not(HasSubstr("power")));
}

TEST(MeterRules, WordsOfAMeterSplitAtTheirLastMarks) {
  const MeterSpec hash = parse_meter("run:echo '#5'#power=kW");
  EXPECT_EQ(hash.source, "echo '#5'");
  EXPECT_EQ(hash.path, "power");
  EXPECT_DOUBLE_EQ(hash.factor, 1000);
  EXPECT_EQ(hash.unit, "kW");
  const MeterSpec equals = parse_meter("http://a/b#x=y=J");
  EXPECT_EQ(equals.path, "x=y");
  EXPECT_TRUE(equals.is_energy);
  EXPECT_EQ(equals.factor, 1);
  EXPECT_EQ(parse_meter("http://a/b").unit, "W");
  EXPECT_EQ(parse_meter("http://a/b").path, "");
  EXPECT_EQ(parse_meter("csv:log.csv").from, MeterSpec::From::kCsv);
  EXPECT_EQ(parse_meter("csv:log.csv#t=kWh").factor, 3.6e6);
  EXPECT_EQ(find_meter_unit("w"), nullptr);
  EXPECT_EQ(find_meter_unit(""), nullptr);
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

/// A logger's file, and a meter that follows it by a clock that the test turns.
class CsvMeterRules : public ::testing::Test {
 protected:
  void open(const std::string& before, const std::string& options = "#power=W") {
    write(before);
    meter_ = open_meter("csv:" + file_.string() + options, clock_.reader());
  }
  void write(const std::string& text) { std::ofstream(file_, std::ios::app) << text; }
  Reading read() { return meter_->read(0).at(0); }

  test::TestFolder folder_;
  const std::filesystem::path file_ = folder_ / "log.csv";
  test::TurnedClock clock_;  // begins at 1000
  std::unique_ptr<EnergySensor> meter_;
};

TEST_F(CsvMeterRules, RowsSinceTheLastLookStandInFrontOfTheNewest) {
  open("time,power\n500,1\n");
  EXPECT_EQ(read().watts, std::nullopt) << "what was there before the run";
  clock_.turn(10);
  write("600,10\n602,20\n605,40\n");
  const Reading reading = read();
  EXPECT_EQ(reading.watts, 40);
  EXPECT_EQ(reading.at_s, 1010) << "the newest row is of now";
  ASSERT_EQ(reading.earlier.size(), 2U);
  EXPECT_EQ(reading.earlier[0].watts, 10);
  EXPECT_EQ(reading.earlier[0].at_s, 1005);
  EXPECT_EQ(reading.earlier[1].watts, 20);
  EXPECT_EQ(reading.earlier[1].at_s, 1007);
  EXPECT_EQ(read().watts, std::nullopt) << "each row is told once";
}

TEST_F(CsvMeterRules, TheLeastLagIsTheOffsetOfTheClocks) {
  open("time,power\n");
  write("600,10\n");
  EXPECT_EQ(read().at_s, 1000);
  clock_.turn(5);
  write("602,20\n");  // found 3 s late
  EXPECT_EQ(read().at_s, 1002);
  clock_.turn(1);
  write("607,30\n");  // found at once: the rows before were later than thought
  EXPECT_EQ(read().at_s, 1006);
  clock_.turn(3);
  write("609,30\n");
  EXPECT_EQ(read().at_s, 1008);
}

TEST_F(CsvMeterRules, TheNoteSaysHowFarTheFilesClockGoesAhead) {
  open("time,power\n");
  write(std::to_string(time(nullptr) + 5000) + ",10\n");
  read();
  EXPECT_NEAR(seconds_ahead(meter_->channels().at(0).note), 5000, 30);
}

TEST_F(CsvMeterRules, ACounterIsToldInThousandthsOfJoules) {
  open("time,meter\n500,0.5\n", "#meter=Wh");
  EXPECT_DOUBLE_EQ(meter_->channels().at(0).joules_per_count, 1e-3);
  write("600,0.75\n601,1.25\n");
  const Reading reading = read();
  EXPECT_EQ(reading.count, 4'500'000U);
  EXPECT_EQ(reading.watts, std::nullopt);
  EXPECT_THAT(reading.earlier, IsEmpty());
  write("602,0.002 kWh\n603,-1\n");
  EXPECT_EQ(read().count, 7'200'000U);
}

TEST_F(CsvMeterRules, ARowThatIsStillBeingWrittenWaits) {
  open("time,power\n500,1\n");
  write("600,12");
  EXPECT_EQ(read().watts, std::nullopt);
  write("5\n601,");
  EXPECT_EQ(read().watts, 125);
  write("7\n\n");
  EXPECT_EQ(read().watts, 7);
  write("\n");
  EXPECT_EQ(read().watts, std::nullopt) << "an empty line is none";
  EXPECT_EQ(read().error, "");
}

TEST_F(CsvMeterRules, TroubleNamesTheRowAsAnEditorCountsIt) {
  std::string many = "time,power\n";
  for (int n = 0; n < 20'000; ++n) many += std::to_string(1'000'000 + n) + ",61.5\n";  // beyond what is kept of a file
  open(many);
  write("2000000,5\n2000001,much\n2000002,7\n");
  const Reading reading = read();
  EXPECT_THAT(reading.error, HasSubstr("row 20003 can't be read"));
  EXPECT_EQ(reading.watts, 7) << "the others count";
  EXPECT_EQ(reading.earlier.size(), 1U);
  write("2000003,-4\n");
  EXPECT_THAT(read().error, HasSubstr("row 20005 says -4"));
}

TEST_F(CsvMeterRules, ColumnsAreFoundByTheirTitles) {
  for (const char* title : {"timestamp", "time", "date", "Time", "Timestamp", "Date"}) {
    write("power,n," + std::string(title) + "\n");
    meter_ = open_meter("csv:" + file_.string() + "#power=W", clock_.reader());
    write("33,44,600\n");
    EXPECT_EQ(read().watts, 33) << title;
    std::filesystem::remove(file_);
  }
  write("when,power,n\n");  // without such a title the first column tells the time, and the second the value
  meter_ = open_meter("csv:" + file_.string(), clock_.reader());
  write("600,33,44\n");
  EXPECT_EQ(read().watts, 33);
  std::filesystem::remove(file_);
  write("power,time\n");
  EXPECT_THROW(open_meter("csv:" + file_.string(), clock_.reader()), Error) << "the second is the time";
  EXPECT_THROW(open_meter("csv:" + file_.string() + "#time=W", clock_.reader()), Error);
}

TEST_F(CsvMeterRules, AnEndOfARunWaitsForARow) {
  write("time,power\n500,1\n");
  int looks = 0;
  const auto now_s = [&] {
    if (++looks == 8) write("600,55\n");  // comes while it is waited for
    return 1000 + 0.1 * looks;
  };
  meter_ = open_meter("csv:" + file_.string() + "#power=W", now_s);
  looks = 0;
  EXPECT_EQ(meter_->read(100).at(0).watts, 55);
  EXPECT_EQ(meter_->read(0.5).at(0).watts, std::nullopt) << "no longer than it is told";
}

}  // namespace
}  // namespace evener::measure
