#include "measure/sensors/outside_meter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

extern char** environ;

namespace evener::measure {
namespace {

using nlohmann::json;

constexpr std::size_t kMostOutput = 1 << 20;

class Command final : public Poller {
 public:
  Command(std::string command, double limit_s) : command_(std::move(command)), limit_s_(limit_s) {}
  ~Command() override { end(); }

  Answer poll(double wait_s) override {
    Answer answer;
    if (pid_ == 0 && !start(answer)) return answer;
    pollfd ready{output_.get(), POLLIN, 0};
    const double until_s = boot_now_s() + wait_s;
    while (!closed_) {
      const double left_s = std::max(0.0, until_s - boot_now_s());
      if (::poll(&ready, 1, static_cast<int>(left_s * 1000)) <= 0) break;
      char buffer[4096];
      const ssize_t size = ::read(output_.get(), buffer, sizeof buffer);
      if (size > 0 && text_.size() < kMostOutput) {
        text_.append(buffer, static_cast<std::size_t>(size));
        continue;
      }
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      closed_ = true;
      break;
    }
    if (closed_) {
      if (std::optional<Answer> whole = finish(until_s)) return *std::move(whole);
    }
    if (boot_now_s() - asked_s_ > limit_s_) {
      end();
      answer.error = fmt::format("'{}' took longer than {:g} s", command_, limit_s_);
    }
    return answer;
  }

 private:
  bool start(Answer& answer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      answer.error = fmt::format("'{}' can't be started: {}", command_, std::strerror(errno));
      return false;
    }
    output_ = Descriptor(ends[0]);
    const Descriptor theirs(ends[1]);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A process group of its own: Ctrl-C doesn't reach it, and a kill ends all that the command has started.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const char* const words[] = {"sh", "-c", command_.c_str(), nullptr};
    const int error = posix_spawn(&pid_, "/bin/sh", &files, &attributes, const_cast<char* const*>(words), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      pid_ = 0;
      answer.error = fmt::format("'{}' can't be started: {}", command_, std::strerror(error));
      return false;
    }
    text_.clear();
    closed_ = false;
    asked_s_ = boot_now_s();
    return true;
  }

  /// Called when the command has closed its output, and so will most likely end soon.
  std::optional<Answer> finish(double until_s) {
    Answer answer;
    int status = 0;
    constexpr useconds_t kSoon_us = 2000;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (boot_now_s() >= until_s) return std::nullopt;
      usleep(kSoon_us);
    }
    pid_ = 0;
    output_.close();
    answer.at_s = (asked_s_ + boot_now_s()) / 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text_.empty()) {
      answer.text = std::move(text_);
    } else {
      answer.error = WIFEXITED(status) ? fmt::format("'{}' ended with exit code {}{}", command_, WEXITSTATUS(status),
                                                     text_.empty() ? " and said nothing" : "")
                                       : fmt::format("'{}' was killed", command_);
    }
    return answer;
  }

  void end() {
    if (pid_ == 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
    output_.close();
  }

  const std::string command_;
  const double limit_s_;
  pid_t pid_ = 0;
  Descriptor output_;
  std::string text_;
  bool closed_ = false;
  double asked_s_ = 0;
};

constexpr double kMeterLimit_s = 5;
constexpr double kAskEvery_s = 2;  // less often than samples are taken, as starting a command costs more
constexpr double kCountsPerMeterJoule = 1e3;

constexpr std::array<MeterUnit, 6> kMeterUnits{{{"W", false, 1},
                                                {"mW", false, 1e-3},
                                                {"kW", false, 1e3},
                                                {"J", true, 1},
                                                {"Wh", true, 3600},
                                                {"kWh", true, 3.6e6}}};

void take_unit(MeterSpec& spec, const std::string& unit, const std::string& text) {
  const MeterUnit* const known = find_meter_unit(unit);
  if (known == nullptr) {
    throw UsageError(fmt::format("--meter {}: unknown unit {}; there are W, mW, kW, J, Wh, kWh", quoted_text(text),
                                 quoted_text(unit)));
  }
  spec.is_energy = known->is_energy;
  spec.factor = known->factor;
  spec.unit = unit;
}

const json* inside(const json& value, const std::string& key) {
  if (value.is_object()) {
    const auto found = value.find(key);
    return found == value.end() ? nullptr : &*found;
  }
  const auto index = to_number<std::size_t>(key);
  return value.is_array() && index && *index < value.size() ? &value[*index] : nullptr;
}

double json_value(const json& whole, const std::string& path) {
  const json* value = &whole;
  std::string so_far;
  std::size_t begin = 0;
  while (!path.empty() && begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    const json* const next = inside(*value, key);
    if (next == nullptr) {
      std::string keys;
      if (value->is_object()) {
        for (const auto& [name, member] : value->items()) keys += (keys.empty() ? "" : ", ") + name;
      }
      throw Error(fmt::format("its answer has no {}{}{}", quoted_text(key),
                              so_far.empty() ? "" : " in " + quoted_text(so_far),
                              keys.empty() ? "" : "; there are " + printable(keys)));
    }
    value = next;
    so_far += (so_far.empty() ? "" : ".") + key;
    begin = end + 1;
  }
  if (value->is_number()) return value->get<double>();
  throw Error(fmt::format("{} in its answer is no number but {}", path.empty() ? "what stands" : quoted_text(path),
                          printable(value->dump(-1, ' ', false, json::error_handler_t::replace))));
}

constexpr const char* kDecimalDigits = "0123456789";

/// Whether `digits` are grouped in thousands: one to three digits, then groups of three after each mark.
bool are_thousands(std::string_view digits, char mark) {
  constexpr std::size_t kGroup = 3;
  std::size_t first = digits.find(mark);
  if (first == std::string_view::npos || first < 1 || first > kGroup) return false;
  while (first < digits.size()) {
    const std::size_t next = std::min(digits.find(mark, first + 1), digits.size());
    if (next - first - 1 != kGroup) return false;
    first = next;
  }
  return true;
}

/// A number with a decimal point or comma, whose thousands the other mark may set apart. Throws Error with the reason
/// alone, for one that may be two numbers too.
double number_of(const std::string& text) {
  const auto refuse = [&] { return Error(quoted_text(text) + " is no number"); };
  std::string plain = text;
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  const std::size_t comma = text.rfind(','), point = text.rfind('.');
  if (comma != std::string::npos && point != std::string::npos) {
    // With both marks the last one is the decimal mark and must occur once.
    const char thousands = comma > point ? '.' : ',';
    const std::string_view whole = digits.substr(0, std::max(comma, point) - (text.size() - digits.size()));
    if (!are_thousands(whole, thousands) || whole.find(thousands == '.' ? ',' : '.') != std::string_view::npos) {
      throw refuse();
    }
    std::erase(plain, thousands);
  } else if (text.find_first_of(".,") != text.find_last_of(".,")) {  // 1,234,567
    const char mark = comma == std::string::npos ? '.' : ',';
    if (!are_thousands(digits, mark)) throw refuse();
    std::erase(plain, mark);
  } else if (comma != std::string::npos && are_thousands(digits, ',')) {
    std::string one = text, other = text;
    std::erase(one, ',');
    std::ranges::replace(other, ',', '.');
    throw Error(quoted_text(text) + " may be " + one + " or " + other +
                ": have the command write numbers with a decimal point, and without marks between thousands");
  }
  if (plain.find_first_of("eE") == std::string::npos) std::ranges::replace(plain, ',', '.');
  const auto number = to_number<double>(plain);
  if (!number) throw refuse();
  return *number;
}

/// The number at `begin`, with decimal mark, thousands marks and exponent, but without a comma or point after it.
std::string number_at(const std::string& text, std::size_t begin) {
  std::size_t end = std::min(text.find_first_not_of("0123456789.,", begin + 1), text.size());
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+') ? 2 : 1;
    const std::size_t digits_end = std::min(text.find_first_not_of(kDecimalDigits, end + sign), text.size());
    if (digits_end > end + sign) end = digits_end;
  }
  while (end > begin && (text[end - 1] == '.' || text[end - 1] == ',')) --end;
  return text.substr(begin, end - begin);
}

/// The word at `begin`, after blanks.
std::string word_at(const std::string& text, std::size_t begin) {
  begin = std::min(text.find_first_not_of(' ', begin), text.size());
  std::size_t end = begin;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
  return text.substr(begin, end - begin);
}

}  // namespace

std::unique_ptr<Poller> ask_command(std::string command, double limit_s) {
  return std::make_unique<Command>(std::move(command), limit_s);
}

const MeterUnit* find_meter_unit(const std::string& name) {
  const auto known = std::ranges::find_if(kMeterUnits, [&](const MeterUnit& one) { return name == one.name; });
  return known == kMeterUnits.end() ? nullptr : &*known;
}

MeterSpec parse_meter(const std::string& text) {
  MeterSpec spec;
  std::string source = text;
  if (const std::size_t hash = text.rfind('#'); hash != std::string::npos) {
    source = text.substr(0, hash);
    spec.path = text.substr(hash + 1);
    if (const std::size_t equals = spec.path.rfind('='); equals != std::string::npos) {
      take_unit(spec, spec.path.substr(equals + 1), text);
      spec.path.resize(equals);
    }
  }
  constexpr std::string_view kRun = "run:";
  if (!source.starts_with(kRun) || source.size() == kRun.size()) {
    throw UsageError(
        fmt::format("--meter {}: that is no run:COMMAND; a meter that answers over HTTP is read by "
                    "run:'curl -s ADDRESS', a file that a logger writes by run:'tail -n 1 FILE'",
                    quoted_text(text)));
  }
  spec.command = source.substr(kRun.size());
  return spec;
}

double value_in(const std::string& answer, const std::string& path, std::string* unit) {
  const json parsed = json::parse(answer, nullptr, false);
  if (!parsed.is_discarded()) return json_value(parsed, path);
  const std::size_t found = path.empty() ? 0 : answer.find(path);
  if (found == std::string::npos) {
    throw Error(fmt::format("its answer is neither JSON nor has it {}: {}", quoted_text(path), quoted_text(answer)));
  }
  const std::size_t digit = answer.find_first_of(kDecimalDigits, found + path.size());
  if (digit == std::string::npos) throw Error("its answer holds no number: " + quoted_text(answer));
  const std::size_t begin = digit > 0 && answer[digit - 1] == '-' ? digit - 1 : digit;
  const std::string number = number_at(answer, begin);
  if (unit != nullptr) *unit = word_at(answer, begin + number.size());
  return number_of(number);
}

AskedMeter::AskedMeter(std::string name, std::string channel, MeterSpec spec, double every_s,
                       std::unique_ptr<Poller> poller)
    : name_(std::move(name)), spec_(std::move(spec)), poller_(std::move(poller)), every_s_(every_s) {
  channels_.push_back({.name = std::move(channel),
                       .covers = record::Covers::kMachine,
                       .joules_per_count = spec_.is_energy ? 1 / kCountsPerMeterJoule : 0,
                       .step_s = std::max(1.0, every_s),
                       .most_watts = kMostMachineWatts,
                       .note = spec_.is_energy ? "" : "power, summed over time",
                       .at_socket = name_ == "--meter"});
  const Answer first = poller_->poll(kMeterLimit_s);
  const Reading reading = first.text.empty() && first.error.empty()
                              ? Reading{.error = fmt::format("it did not answer within {:g} s", kMeterLimit_s)}
                              : reading_of(first);
  if (reading.watts) doubt_ = why_implausible(channels_.front(), *reading.watts);
  if (reading.count || reading.watts) return;
  channels_.clear();
  refuse(reading.error, "look at the meter's command, and at where its value stands");
}

Reading AskedMeter::reading_of(const Answer& answer) const {
  if (!answer.error.empty()) return {.error = answer.error};
  if (answer.text.empty()) return {};
  try {
    std::string unit;
    const double number = value_in(answer.text, spec_.path, &unit);
    const MeterUnit* const told = find_meter_unit(unit);  // null: the word isn't a unit
    if (told != nullptr && told->is_energy != spec_.is_energy) {
      return {.error = fmt::format("its value is in {}, not in {}", told->name, spec_.unit)};
    }
    const double value = number * (told == nullptr ? spec_.factor : told->factor);
    if (!std::isfinite(value) || value < 0) return {.error = fmt::format("it said {:g} {}", value, spec_.unit)};
    if (!spec_.is_energy) return {.watts = value, .at_s = answer.at_s};
    return {.count = static_cast<std::uint64_t>(std::llround(value * kCountsPerMeterJoule)), .at_s = answer.at_s};
  } catch (const Error& error) {
    return {.error = error.what()};
  }
}

std::vector<Reading> AskedMeter::read(double wait_s) {
  if (channels_.empty()) return {};
  // A long wait_s means an end of the run, where a fresh value is needed.
  constexpr double kEndsWait_s = 1;
  if (wait_s < kEndsWait_s && boot_now_s() < asked_again_s_) return {Reading{}};
  const Answer answer = poller_->poll(wait_s);
  if (!answer.text.empty() || !answer.error.empty()) asked_again_s_ = boot_now_s() + every_s_;
  return {reading_of(answer)};
}

std::unique_ptr<EnergySensor> open_meter(const std::string& text, const std::string& channel) {
  MeterSpec spec = parse_meter(text);
  auto poller = ask_command(spec.command, kMeterLimit_s);
  auto meter = std::make_unique<AskedMeter>("--meter", channel, std::move(spec), kAskEvery_s, std::move(poller));
  const std::string why = meter->refusal() + meter->doubt();
  if (why.empty()) return meter;
  throw Error(fmt::format("--meter {}: {}; look at the meter's command, and at where its value stands",
                          quoted_text(text), why));
}

std::unique_ptr<EnergySensor> open_ipmi(const std::string& root) {
  class Refused final : public EnergySensor {
   public:
    Refused(const std::string& why, const std::string& remedy) { refuse(why, remedy); }
    std::string name() const override { return "ipmi"; }
    std::vector<Reading> read(double /*wait_s*/) override { return {}; }
  };
  std::error_code error;
  const std::filesystem::path device = std::filesystem::path(root) / "dev/ipmi0";
  if (!std::filesystem::exists(device, error)) {
    return std::make_unique<Refused>("there is no " + device.string() + " (servers have one)", "");
  }
  const MeterSpec spec{.command = "ipmitool dcmi power reading", .path = "Instantaneous power reading"};
  auto poller = ask_command(spec.command, kMeterLimit_s);
  auto sensor = std::make_unique<AskedMeter>("ipmi", "server", spec, kAskEvery_s, std::move(poller));
  if (sensor->refusal().empty()) return sensor;
  return std::make_unique<Refused>(sensor->refusal(), "install ipmitool, and let this user read " + device.string() +
                                                          " (sudo chgrp GROUP " + device.string() +
                                                          "; sudo chmod g+rw)");
}

}  // namespace evener::measure
