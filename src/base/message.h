// Messages between the processes of a run (results, reports, greetings) as bytes that name their types. Numbers arrive
// bit by bit as they were, and absent values as absent.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/described.h"

namespace evener {

/// Appends values to a message, each after a byte that names its type. Structs need a describe() (base/described.h).
class MessageWriter : public PlainVisitor<MessageWriter> {
 public:
  void write(bool value);
  void write(double value);
  void write(float value) { write(double{value}); }
  void write(std::string_view text);
  void write(std::signed_integral auto value) {
    write_integer('i', static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
  void write(std::unsigned_integral auto value) { write_integer('u', value); }
  template <class T>
  requires std::is_enum_v<T>
  void write(T value) { write(static_cast<std::underlying_type_t<T>>(value)); }
  template <class T>
  void write(const std::optional<T>& value) {
    write_integer('o', value ? 1 : 0);
    if (value) write(*value);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    write_integer('v', values.size());
    for (const T& value : values) write(value);
  }
  template <class Key, class T>
  void write(const std::map<Key, T>& values) {
    write_integer('m', values.size());
    for (const auto& [key, value] : values) {
      write(key);
      write(value);
    }
  }
  template <class... T>
  void write(const std::tuple<T...>& values) {
    write_integer('t', sizeof...(T));
    std::apply([this](const T&... each) { (write(each), ...); }, values);
  }
  template <typename T>
  requires std::is_class_v<T> && Describes<MessageWriter, const T>
  void write(const T& value) {
    bytes_ += '{';
    describe(*this, value);
    bytes_ += '}';
  }
  void value(const char* /*key*/, const auto& member) { write(member); }

  std::string take() { return std::move(bytes_); }

 private:
  void write_integer(char type, std::uint64_t value);

  std::string bytes_;
};

/// Reads the values of a message in the order in which they were written, into variables of the same types; an integer
/// may be of another size that can hold it. Each read throws Error when the message ends too early or has something
/// else there.
class MessageReader : public PlainVisitor<MessageReader> {
 public:
  /// `what`: the message, for errors: "the result of rank 3". `bytes` outlives the reader.
  MessageReader(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  void read(bool& value);
  void read(double& value);
  void read(float& value);
  void read(std::string& text);
  void read(std::signed_integral auto& value) { store(value, static_cast<std::int64_t>(read_integer('i'))); }
  void read(std::unsigned_integral auto& value) { store(value, read_integer('u')); }
  template <class T>
  requires std::is_enum_v<T>
  void read(T& value) {
    std::underlying_type_t<T> number{};
    read(number);
    value = static_cast<T>(number);
  }
  template <class T>
  void read(std::optional<T>& value) {
    value.reset();
    if (read_count('o', 1) == 1) read(value.emplace());
  }
  template <class T>
  void read(std::vector<T>& values) {
    values.clear();
    for (std::uint64_t left = read_count('v', left_bytes()); left > 0; --left) read(values.emplace_back());
  }
  template <class Key, class T>
  void read(std::map<Key, T>& values) {
    values.clear();
    for (std::uint64_t left = read_count('m', left_bytes()); left > 0; --left) {
      Key key{};
      read(key);
      read(values[std::move(key)]);
    }
  }
  template <class... T>
  void read(std::tuple<T...>& values) {
    const std::uint64_t count = read_integer('t');
    if (count != sizeof...(T))
      fail(std::to_string(count) + " values stand where " + std::to_string(sizeof...(T)) + " belong");
    std::apply([this](auto&... each) { (read(each), ...); }, values);
  }
  template <typename T>
  requires std::is_class_v<T> && Describes<MessageReader, T>
  void read(T& value) {
    read_mark('{');
    describe(*this, value);
    read_mark('}');
  }
  void value(const char* /*key*/, auto& member) { read(member); }

  /// Throws Error when the message has values that were not read.
  void require_end() const;

 private:
  std::uint64_t read_integer(char type);
  void read_mark(char type);
  /// Reads the number of elements that follow. Throws Error above `most`, which callers take from the bytes that are
  /// left, since each element has at least one: a damaged count must not allocate more memory than the message has.
  std::uint64_t read_count(char type, std::uint64_t most);
  std::uint64_t left_bytes() const { return bytes_.size() - at_; }
  std::string_view read_bytes(std::uint64_t count);
  [[noreturn]] void fail(const std::string& how) const;

  template <class T>
  void store(T& value, auto wide) {
    if (!std::in_range<T>(wide)) fail("the number " + std::to_string(wide) + " is too large for its place");
    value = static_cast<T>(wide);
  }
  std::string_view bytes_;
  std::string what_;
  std::size_t at_ = 0;
};

/// Packs one value into a message, and unpacks it again. `what`: see MessageReader. unpack_message throws Error unless
/// `bytes` are the whole message of a T.
template <class T>
std::string pack_message(const T& value) {
  MessageWriter writer;
  writer.write(value);
  return writer.take();
}
template <class T>
T unpack_message(std::string_view bytes, const std::string& what) {
  MessageReader reader(bytes, what);
  T value{};
  reader.read(value);
  reader.require_end();
  return value;
}

}  // namespace evener
