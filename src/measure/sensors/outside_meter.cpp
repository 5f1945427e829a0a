#include "measure/sensors/outside_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::measure {
namespace {

using nlohmann::json;

constexpr double kMeterLimit_s = 5;
constexpr double kHttpEvery_s = 0.45;  // about as often as samples are taken, every 0.5 s
constexpr double kCommandEvery_s = 2;  // less often, as starting a command costs more
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
  if (source.starts_with("run:")) {
    spec.from = MeterSpec::From::kCommand;
    spec.source = source.substr(4);
  } else if (source.starts_with("csv:")) {
    spec.from = MeterSpec::From::kCsv;
    spec.source = source.substr(4);
  } else {
    spec.source = source;
  }
  const bool is_address = spec.source.find("://") != std::string::npos;
  if (spec.source.empty() || (spec.from == MeterSpec::From::kHttp && !is_address)) {
    throw UsageError(fmt::format("--meter {}: that is none of http://ADDRESS#VALUE=W, run:COMMAND, csv:FILE#COLUMN=W",
                                 quoted_text(text)));
  }
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
  DecimalMark mark = DecimalMark::kUnknown;
  return csv_number(number, mark);
}

AskedMeter::AskedMeter(std::string name, std::string channel, MeterSpec spec, double every_s,
                       std::unique_ptr<Poller> poller)
    : name_(std::move(name)), spec_(std::move(spec)), poller_(std::move(poller)), every_s_(every_s) {
  channels_.push_back({.name = std::move(channel),
                       .covers = record::Covers::kMachine,
                       .joules_per_count = spec_.is_energy ? 1 / kCountsPerMeterJoule : 0,
                       .step_s = std::max(1.0, every_s),
                       .note = spec_.is_energy ? "" : "power, summed over time",
                       .at_socket = name_ == "--meter"});
  const Answer first = poller_->poll(kMeterLimit_s);
  const Reading reading = first.text.empty() && first.error.empty()
                              ? Reading{.error = fmt::format("it did not answer within {:g} s", kMeterLimit_s)}
                              : reading_of(first);
  if (reading.count || reading.watts) return;
  channels_.clear();
  refuse(reading.error, "look at the meter's address, and at where its value stands");
}

/// Notes the offset of the meter's clock, for users who compare the meter's own log with ours.
void AskedMeter::note_clock(const Answer& answer) {
  if (!answer.their_clock_s) return;
  constexpr double kHalfSecond = 0.5;  // HTTP's Date header has whole seconds
  const double ours_s = static_cast<double>(time(nullptr)) + kHalfSecond;
  clock_sum_s_ += *answer.their_clock_s + kHalfSecond - ours_s;
  ++clock_samples_;
  channels_.front().note = fmt::format("{}its clock is {:+.1f} s from ours, to half a second",
                                       spec_.is_energy ? "" : "power, summed over time; ",
                                       clock_sum_s_ / static_cast<double>(clock_samples_));
}

Reading AskedMeter::reading_of(const Answer& answer) {
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
    note_clock(answer);
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

std::unique_ptr<EnergySensor> open_meter(const std::string& text, const std::function<double()>& now_s,
                                         const std::string& channel) {
  MeterSpec spec = parse_meter(text);
  std::unique_ptr<EnergySensor> meter;
  if (spec.from == MeterSpec::From::kCsv) {
    meter = std::make_unique<CsvMeter>(channel, std::move(spec), now_s);
  } else {
    auto poller = spec.from == MeterSpec::From::kHttp ? ask_http(spec.source, kMeterLimit_s)
                                                      : ask_command(spec.source, kMeterLimit_s);
    const double every_s = spec.from == MeterSpec::From::kHttp ? kHttpEvery_s : kCommandEvery_s;
    meter = std::make_unique<AskedMeter>("--meter", channel, std::move(spec), every_s, std::move(poller));
  }
  if (meter->refusal().empty()) return meter;
  throw Error(fmt::format("--meter {}: {}; {}", quoted_text(text), meter->refusal(), meter->remedy()));
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
  MeterSpec spec{.from = MeterSpec::From::kCommand,
                 .source = "ipmitool dcmi power reading",
                 .path = "Instantaneous power reading"};
  auto poller = ask_command(spec.source, kMeterLimit_s);
  auto sensor = std::make_unique<AskedMeter>("ipmi", "server", spec, kCommandEvery_s, std::move(poller));
  if (sensor->refusal().empty()) return sensor;
  return std::make_unique<Refused>(sensor->refusal(), "install ipmitool, and let this user read " + device.string() +
                                                          " (sudo chgrp GROUP " + device.string() +
                                                          "; sudo chmod g+rw)");
}

}  // namespace evener::measure
