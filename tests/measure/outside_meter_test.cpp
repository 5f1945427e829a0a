// Meters of users: made-up ones that answer over HTTP, by a command, or in a file.
#include "measure/sensors/outside_meter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "measure/energy_meter.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A meter that answers each connection with what it was told, after a while, or never.
class MadeUpMeter {
 public:
  MadeUpMeter() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 8) != 0)
      throw Error("no");
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~MadeUpMeter() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
    for (const int each : silent_) close(each);
  }

  void answers(std::string text) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(text);
  }
  void says(const std::string& json) {
    answers("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(json.size()) +
            "\r\nDate: Tue, 24 Nov 2026 22:12:22 GMT\r\nConnection: close\r\n\r\n" + json);
  }
  void is_late_by(int milliseconds) { delay_ms_ = milliseconds; }
  void is_silent(bool silent) { is_silent_ = silent; }
  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

 private:
  void serve() {
    while (!stopping_) {
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) continue;
      char request[2048];
      [[maybe_unused]] const ssize_t size = recv(peer, request, sizeof request, 0);
      if (is_silent_) {
        silent_.push_back(peer);
        continue;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
      {
        const std::lock_guard lock(mutex_);
        [[maybe_unused]] const ssize_t sent = send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      }
      close(peer);
    }
  }

  const int listener_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false, is_silent_ = false;
  std::atomic<int> delay_ms_ = 0;
  std::mutex mutex_;
  std::string answer_;
  std::vector<int> silent_;
  std::thread thread_;
};

std::string refusal_of(const std::string& meter) {
  try {
    open_meter(meter, boot_now_s);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MeterSpec, IsReadAndWrongWordsAreRefused) {
  const MeterSpec shelly = parse_meter("http://10.0.0.5/rpc/Switch.GetStatus?id=0#aenergy.total=Wh");
  EXPECT_EQ(shelly.source, "http://10.0.0.5/rpc/Switch.GetStatus?id=0");
  EXPECT_EQ(shelly.path, "aenergy.total");
  EXPECT_TRUE(shelly.is_energy);
  EXPECT_EQ(shelly.factor, 3600);
  const MeterSpec command = parse_meter("run:read-meter --port /dev/ttyUSB0");
  EXPECT_EQ(command.from, MeterSpec::From::kCommand);
  EXPECT_EQ(command.source, "read-meter --port /dev/ttyUSB0");
  EXPECT_FALSE(command.is_energy);
  EXPECT_EQ(parse_meter("csv:log.csv#power=mW").factor, 1e-3);
  for (const char* wrong : {"", "10.0.0.5", "run:", "csv:", "http://a/#x=hp"}) {
    EXPECT_THROW(parse_meter(wrong), UsageError) << wrong;
  }
  EXPECT_THROW(open_meter("ftp://10.0.0.5/#a", boot_now_s), UsageError);
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

/// The next reading with a value or with error.
Reading next_reading(EnergySensor& sensor) {
  for (int n = 0; n < 20; ++n) {
    Reading reading = sensor.read(1).at(0);  // as at the ends of a run
    if (reading.watts || reading.count || !reading.error.empty()) return reading;
  }
  return {};
}

TEST(HttpMeter, TellsPowerOrEnergyAndWhereItsClockIs) {
  MadeUpMeter meter;
  meter.says(R"({"apower": 52.5, "aenergy": {"total": 11.5}})");
  const auto power = open_meter(meter.url("/rpc/Switch.GetStatus?id=0#apower"), boot_now_s);
  EXPECT_EQ(next_reading(*power).watts, 52.5);
  EXPECT_THAT(power->channels()[0].note, HasSubstr("its clock is"));
  const auto energy = open_meter(meter.url("/#aenergy.total=Wh"), boot_now_s);
  EXPECT_EQ(next_reading(*energy).count, 11'500u * 3600);
  EXPECT_EQ(energy->channels()[0].covers, record::Covers::kMachine);
  meter.answers(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"app\r\na\r\nower\": 7.5\r\n1\r\n}\r\n0\r\n\r\n");
  EXPECT_THAT(next_reading(*power).error, HasSubstr("no 'apower'")) << "the answer says 'appower'";
}

TEST(HttpMeter, ALateAnswerIsOfTheTimeWhenItWasAskedFor) {
  MadeUpMeter meter;
  meter.says(R"({"power": 10})");
  const auto sensor = open_meter(meter.url("/#power"), boot_now_s);
  meter.is_late_by(400);
  const double asked_s = boot_now_s();
  const Reading reading = next_reading(*sensor);
  const double answered_s = boot_now_s();
  EXPECT_EQ(reading.watts, 10);
  // The middle of 0.4 s and more that lie between these two, however long others take the processor in between.
  EXPECT_GT(*reading.at_s, asked_s + 0.19);
  EXPECT_LT(*reading.at_s, answered_s - 0.19);
}

TEST(HttpMeter, WrongAnswersSayWhatCame) {
  MadeUpMeter meter;
  meter.answers("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(refusal_of(meter.url("/#power")), HasSubstr("404"));
  meter.answers("SSH-2.0-OpenSSH\r\n");
  EXPECT_THAT(refusal_of(meter.url("/#power")), HasSubstr("can't be reached"));
  meter.says(R"({"power": -5})");
  EXPECT_THAT(refusal_of(meter.url("/#power")), HasSubstr("-5 W"));
  meter.says("<html>login</html>");
  EXPECT_THAT(refusal_of(meter.url("/#power")), HasSubstr("neither JSON nor"));
}

TEST(HttpMeter, AMeterThatFallsSilentLeavesTheEnergyInvalid) {
  MadeUpMeter served;
  served.says(R"({"power": 100})");
  test::TurnedClock clock;
  // Its own clock is the real one; the readings' times are moved to the turned one.
  class Moved final : public EnergySensor {
   public:
    Moved(std::unique_ptr<EnergySensor> inner, std::function<double()> now_s)
        : inner_(std::move(inner)), now_s_(std::move(now_s)) {
      channels_ = inner_->channels();
    }
    std::string name() const override { return "--meter"; }
    std::vector<Reading> read(double wait_s) override {
      auto readings = inner_->read(wait_s);
      if (readings[0].at_s) readings[0].at_s = now_s_();
      return readings;
    }

   private:
    std::unique_ptr<EnergySensor> inner_;
    std::function<double()> now_s_;
  };
  EnergyMeter meter(test::only(std::make_unique<Moved>(open_meter(served.url("/#power"), boot_now_s), clock.reader())),
                    clock.reader());
  for (int n = 0; n < 10; ++n) {
    meter.poll(1);
    clock.turn(1);
  }
  EXPECT_NEAR(meter.energy(10).joules.value_or(0), 1000, 101) << "up to a second before the last reading";
  served.is_silent(true);
  for (int n = 0; n < 10; ++n) {
    meter.poll(0.01);
    clock.turn(1);
  }
  EXPECT_EQ(meter.energy(20).joules, std::nullopt);
  EXPECT_THAT(meter.energy(20).reason, HasSubstr("said nothing for"));
}

TEST(CommandMeter, ReadsNumbersAsTheyAreWrittenElsewhere) {
  EXPECT_EQ(value_in("Leistung: 60,5 W", ""), 60.5);
  EXPECT_EQ(value_in("power 1,234.50, voltage 230", "power"), 1234.5);
  EXPECT_EQ(value_in("it draws 61.", ""), 61);
  EXPECT_EQ(value_in("6.15e1 W", ""), 61.5);
  EXPECT_THROW(value_in("1,234", ""), Error) << "1234 or 1.234";
  const auto watts = [](const std::string& words, const char* unit) {
    return next_reading(*open_meter("run:echo " + words + "#=" + unit, boot_now_s)).watts;
  };
  EXPECT_EQ(watts("0.0615 kW", "W"), 61.5);
  EXPECT_EQ(watts("61.5 Watts", "W"), 61.5);
  EXPECT_THAT(refusal_of("run:echo 61.5 kWh#=W"), HasSubstr("in kWh, not in W"));
}

TEST(CommandMeter, ReadsWhatACommandSays) {
  const auto sensor = open_meter("run:echo 42.5#", boot_now_s);
  EXPECT_EQ(next_reading(*sensor).watts, 42.5);
  EXPECT_THAT(refusal_of("run:exit 3"), HasSubstr("exit code 3"));
  EXPECT_THAT(refusal_of("run:/nonexistent/read-meter"), HasSubstr("exit code 127"));
}

TEST(CommandMeter, OneThatHangsIsEndedWithAllThatItStarted) {
  const auto poller = ask_command("sleep 100; echo 5", 0.2);
  Answer answer;
  for (int n = 0; n < 50 && answer.error.empty(); ++n) answer = poller->poll(0.05);
  EXPECT_THAT(answer.error, HasSubstr("longer than 0.2 s"));
}

TEST(CsvMeter, FollowsAFileWhateverItsClockSays) {
  const test::TestFolder folder;
  const auto file = folder / "log.csv";
  std::ofstream log(file);
  log << "n,timestamp,power\n1,2020-01-01T00:00:00Z,999\n" << std::flush;
  test::TurnedClock clock;
  EnergyMeter meter(test::only(open_meter("csv:" + file.string() + "#power=W", clock.reader())), clock.reader());
  // 50 W rising to 150 W, and 200 W more at odd seconds, a row each second, by a clock that is years behind; looks each
  // 2 s see all rows.
  for (int second = 0; second <= 100; ++second) {
    log << second << ",2020-01-01T00:" << (second / 60 < 10 ? "0" : "") << second / 60 << ":"
        << (second % 60 < 10 ? "0" : "") << second % 60 << ".0Z," << 50 + second + 200 * (second % 2) << "\n"
        << std::flush;
    if (second % 2 == 0) meter.poll();
    if (second < 100) clock.turn(1);
  }
  const record::Energy energy = meter.energy(100);
  ASSERT_TRUE(energy.joules.has_value()) << energy.reason;
  EXPECT_NEAR(*energy.joules, 20'000, 20);
  EXPECT_THAT(energy.devices[0].note, HasSubstr("its clock is -"));
  EXPECT_THAT(refusal_of("csv:" + file.string() + "#watts"), HasSubstr("there are n, timestamp, power"));
  EXPECT_THAT(refusal_of("csv:/nonexistent.csv"), HasSubstr("can't be read"));
}

TEST(MeterUnits, AreWhatTheInternationalSystemSays) {
  const auto joules_of_one = [](const char* unit) {
    const auto sensor = open_meter(std::string("run:echo 1#=") + unit, boot_now_s);
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

std::string row_at(double time_s, double value) {
  return std::to_string(time_s) + "," + std::to_string(value) + "\n";
}

/// The joules from 0 to 20 s where the power rises by 100 W a second from 0 on, or the meter has counted that: 20 kJ.
/// Rows are written each second with their times, but seen so much later.
double joules_of_late_rows(const std::function<double(int)>& late_s, bool counts) {
  const test::TestFolder folder;
  const auto file = folder / "log.csv";
  std::ofstream log(file);
  log << "time,value\n" << std::flush;
  test::TurnedClock clock;
  const double begin_s = clock.now(), theirs_s = 1'600'000'000;
  EnergyMeter meter(test::only(open_meter("csv:" + file.string() + (counts ? "#value=J" : "#value=W"), clock.reader())),
                    clock.reader());
  for (int second = 0; second <= 20; ++second) {
    log << row_at(theirs_s + second, counts ? 50.0 * second * second : 100.0 * second) << std::flush;
    clock.turn(begin_s + second + late_s(second) - clock.now());
    meter.poll();
  }
  const record::Energy energy = meter.energy(20);
  return energy.joules.value_or(-1);
}

// How far its clock is from ours is known best from the row that was seen soonest.
TEST(CsvMeter, LateLooksDoNotMoveItsRows) {
  const auto all = [](double late_s) { return [late_s](int) { return late_s; }; };
  const auto only = [](int soon) { return [soon](int second) { return second == soon || second == 20 ? 0 : 0.7; }; };
  for (const bool counts : {false, true}) {
    EXPECT_NEAR(joules_of_late_rows(all(0), counts), 20'000, 1) << counts;
    EXPECT_NEAR(joules_of_late_rows(only(0), counts), 20'000, 1) << counts;
  }
  // From the second row on it is known that they come at once; the first one was taken to be older by 0.7 s, which is
  // 35 J of a power that has hardly begun.
  EXPECT_NEAR(joules_of_late_rows(only(1), false), 20'000, 100);
}

/// What the note says of the clock of a meter, in seconds from ours.
double told_clock_s(const EnergySensor& sensor) {
  const std::string& note = sensor.channels()[0].note;
  const std::size_t at = note.find("its clock is ");
  return at == std::string::npos ? NAN : std::strtod(note.c_str() + at + 13, nullptr);
}

TEST(CsvMeter, TellsHowFarItsClockIsFromOurs) {
  for (const double ahead_s : {7200.0, -7200.0}) {
    const test::TestFolder folder;
    const auto file = folder / "log.csv";
    std::ofstream log(file);
    log << "time,power\n" << std::flush;
    test::TurnedClock clock;
    const auto sensor = open_meter("csv:" + file.string() + "#power=W", clock.reader());
    log << row_at(static_cast<double>(time(nullptr)) + ahead_s, 10) << std::flush;
    sensor->read(0);
    EXPECT_NEAR(told_clock_s(*sensor), ahead_s, 60) << "however long this test took";
  }
}

TEST(HttpMeter, TellsHowFarItsClockIsFromOurs) {
  for (const double ahead_s : {7200.0, -7200.0}) {
    const time_t theirs = time(nullptr) + static_cast<time_t>(ahead_s);
    tm parts{};
    gmtime_r(&theirs, &parts);
    char date[64];
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    MadeUpMeter meter;
    meter.answers(std::string("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nDate: ") + date + "\r\n\r\n12.5");
    EXPECT_NEAR(told_clock_s(*open_meter(meter.url("/#"), boot_now_s)), ahead_s, 60) << date;
  }
}

/// What a meter says of rows that come after `before`; its error in brackets where there is one.
std::string read_rows(const std::string& before, const std::string& rows, const std::string& options = "#power=W") {
  const test::TestFolder folder;
  const auto file = folder / "log.csv";
  std::ofstream log(file);
  log << before << std::flush;
  test::TurnedClock clock;
  const auto meter = open_meter("csv:" + file.string() + options, clock.reader());
  log << rows << std::flush;
  const Reading reading = meter->read(0).front();
  const std::string watts = reading.watts ? std::to_string(*reading.watts) : "nothing";
  return reading.error.empty() ? watts : watts + " (" + reading.error + ")";
}

TEST(CsvMeter, ReadsNumbersAndTimesAsTheyAreWrittenElsewhere) {
  const std::string semicolons = "time;power;note\n", commas = "time,power,note\n", seconds = "1764171600.5";
  EXPECT_EQ(read_rows(semicolons, seconds + ";60,50;x\r\n"), "60.500000");
  EXPECT_EQ(read_rows(semicolons, "1764171600,125;61,5;x\n"), "61.500000");
  EXPECT_EQ(read_rows(semicolons, seconds + ";1.234,50;x\n"), "1234.500000");
  EXPECT_EQ(read_rows(semicolons, seconds + ";1 234,5;x\n"), "1234.500000");
  EXPECT_EQ(read_rows(commas, seconds + ",\"1,234.50\",x\n"), "1234.500000");
  EXPECT_EQ(read_rows(commas, seconds + ",\"60,5\",x\n"), "60.500000");
  EXPECT_EQ(read_rows(commas, seconds + ",61.5 W,x\n"), "61.500000");
  EXPECT_EQ(read_rows(commas, seconds + ",0.0615kW,x\n"), "61.500000");
  EXPECT_EQ(read_rows("\xEF\xBB\xBFpower,time,note\n", "61.5," + seconds + ",x\n"), "61.500000");
  EXPECT_EQ(read_rows("time\tpower\n", seconds + "\t60,5\n"), "60.500000");
  EXPECT_EQ(read_rows(commas, "26.11.2026 15:00:00,61.5,x\n"), "61.500000");
  EXPECT_EQ(read_rows(semicolons, "\"26.11.2026, 15:00:00,5\";61,5;\n"), "61.500000");
  EXPECT_EQ(read_rows(commas, "2026/11/26 15:00:00.5+01:00,61.5,x,\n"), "61.500000");
  // What the rows before say of the decimal mark holds for one that could be two numbers.
  EXPECT_EQ(read_rows(semicolons + seconds + ";60,5;x\n", seconds + ";1,234;x\n"), "1.234000");
  EXPECT_EQ(read_rows(semicolons + seconds + ";60,5;x\n", seconds + ";1.234;x\n"), "1234.000000");
  EXPECT_EQ(read_rows(semicolons + seconds + ";60.5;x\n", seconds + ";1,234;x\n"), "1234.000000");
}

TEST(CsvMeter, TellsTheRowThatItCantRead) {
  const std::string commas = "time,power,note\n", good = "1764171600,61.5,x\n";
  const auto error = [&](const std::string& row) { return read_rows(commas + good, row + "\n" + good); };
  EXPECT_THAT(error("1764171600,60,50,x"), AllOf(HasSubstr("61.5"), HasSubstr("row 3"), HasSubstr("4 cells")));
  EXPECT_THAT(error("1764171600,much,x"), AllOf(HasSubstr("'much' is no number"), HasSubstr("1764171600,much,x")));
  EXPECT_THAT(error("1764171600,61.5 VA,x"), HasSubstr("in 'VA', not in W"));
  EXPECT_THAT(error("1764171600,61.5 Wh,x"), HasSubstr("in 'Wh', not in W"));
  EXPECT_THAT(error("11/26/2026 15:00:00,61.5,x"), HasSubstr("is no time"));
  EXPECT_THAT(error("2026-11-26 03:00:00 PM,61.5,x"), HasSubstr("is no time"));
  EXPECT_THAT(error("1764171600,-3.0,x"), HasSubstr("row 3 says -3"));
  EXPECT_THAT(error("1764171600,\"60,5\",x"), HasSubstr("otherwise than the rows before"));
  EXPECT_THAT(read_rows(commas, "1764171600,\"1,234\",x\n"), HasSubstr("may be 1234 or 1.234"));
}

TEST(CsvMeter, RefusesAtTheStartWhatItCantRead) {
  const test::TestFolder folder;
  const auto file = folder / "log.csv";
  std::ofstream(file) << "time,power\n1764171600,61.5\n1764171601,61.5 hp\n";
  EXPECT_THAT(refusal_of("csv:" + file.string() + "#power=W"), AllOf(HasSubstr("row 3"), HasSubstr("'hp'")));
  std::ofstream(file) << "time,power\n1764171600,hp\n1764171601,61.5\n";  // it began anew meanwhile
  EXPECT_EQ(open_meter("csv:" + file.string() + "#power=W", boot_now_s)->refusal(), "");
}

TEST(Ipmi, WithoutItsDeviceIsNotAsked) {
  const test::TestFolder nothing;
  EXPECT_THAT(open_ipmi(nothing.path().string())->refusal(), HasSubstr("ipmi0"));
}

}  // namespace
}  // namespace evener::measure
