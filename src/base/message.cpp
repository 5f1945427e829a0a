#include "base/message.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.h"

namespace evener {
namespace {

/// The name of the type that the byte before a value stands for.
const char* type_name(char type) {
  constexpr std::pair<char, const char*> kTypes[] = {{'b', "a truth value"},
                                                     {'d', "a number with a fraction"},
                                                     {'i', "an integer"},
                                                     {'u', "an integer without a sign"},
                                                     {'s', "a text"},
                                                     {'o', "a value that may be absent"},
                                                     {'v', "a list"},
                                                     {'m', "a map"},
                                                     {'t', "a group of values"},
                                                     {'{', "a struct"},
                                                     {'}', "the end of a struct"}};
  for (const auto& [byte, name] : kTypes) {
    if (byte == type) return name;
  }
  return "nothing known";
}

}  // namespace

void MessageWriter::write(bool value) {
  write_integer('b', value ? 1 : 0);
}

void MessageWriter::write(double value) {
  write_integer('d', std::bit_cast<std::uint64_t>(value));
}

void MessageWriter::write(std::string_view text) {
  write_integer('s', text.size());
  bytes_ += text;
}

void MessageWriter::write_integer(char type, std::uint64_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  bytes_ += type;
  bytes_.append(bytes, sizeof bytes);
}

void MessageReader::read(bool& value) {
  value = read_count('b', 1) == 1;
}

void MessageReader::read(double& value) {
  value = std::bit_cast<double>(read_integer('d'));
}

void MessageReader::read(float& value) {
  double number = 0;
  read(number);
  value = static_cast<float>(number);
}

void MessageReader::read(std::string& text) {
  text = read_bytes(read_integer('s'));
}

void MessageReader::require_end() const {
  if (left_bytes() > 0) fail("it should end here");
}

void MessageReader::read_mark(char type) {
  const char found = read_bytes(1).front();
  if (found == type) return;
  --at_;
  fail(fmt::format("{} stands where {} belongs", type_name(found), type_name(type)));
}

std::uint64_t MessageReader::read_integer(char type) {
  read_mark(type);
  std::uint64_t value = 0;
  std::memcpy(&value, read_bytes(sizeof value).data(), sizeof value);
  return value;
}

std::uint64_t MessageReader::read_count(char type, std::uint64_t most) {
  const std::uint64_t count = read_integer(type);
  if (count > most) fail(fmt::format("{} has the impossible number {}", type_name(type), count));
  return count;
}

std::string_view MessageReader::read_bytes(std::uint64_t count) {
  if (count > left_bytes()) fail("it is cut off");
  const std::string_view bytes = bytes_.substr(at_, count);
  at_ += count;
  return bytes;
}

void MessageReader::fail(const std::string& how) const {
  throw Error(what_ + " can't be understood at byte " + std::to_string(at_) + " of " + std::to_string(bytes_.size()) +
              ": " + how + "; were all processes started from the same version of evener?");
}

}  // namespace evener
