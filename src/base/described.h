// One description of a struct serves all of its serialisations: describe(visitor, Of<Struct> auto& value), declared in
// the struct's namespace, shows each member with its key to a visitor. Messages between processes (base/message.h),
// JSON and CSV (record/) are such visitors; each writes from a const struct and reads into a mutable one.
//
// What a visitor knows, besides values, structs, lists, maps and optional ones by value():
//   text               an empty text is null in a file
//   not_negative       seconds, joules, rates: 0 or more
//   column_if_known    the same; a table has a column of it only where some row has a value
//   share              0 to 1
//   interval           null or two numbers
//   required           a value without which a file says nothing: reading refuses to do without
//   group              members that stand in an object of their own
//   left_out_if        not written where that is so; then it keeps its default
//   left_out_if_empty  the same of lists, maps, and structs that say whether they are empty
//   outside_tables     members that a row of a table (CSV) has no cells for
//   fixed              a text for readers that follows from the members: it is written, and not read
//   check              what must hold of the members above, or what is read is refused with that sentence
#pragma once

#include <concepts>
#include <string>
#include <type_traits>

namespace evener {

/// `Struct` to read into, or const `Struct` to write from.
template <typename T, typename Struct>
concept Of = std::same_as<std::remove_const_t<T>, Struct>;

/// Whether describe() shows a T to this visitor.
template <typename Visitor, typename T>
concept Describes = requires(Visitor& visitor, T& value) {
  describe(visitor, value);
};

/// A visitor that treats every kind of member as a plain value, ignoring how files show it. `Visitor` has value(key,
/// member).
template <typename Visitor>
class PlainVisitor {
 public:
  /// Several members by value(), required() or not_negative(), each after its key.
  void values(const char* key, auto& member, auto&... more) {
    self().value(key, member);
    if constexpr (sizeof...(more) > 0) values(more...);
  }
  void all_required(const char* key, auto& member, auto&... more) {
    self().required(key, member);
    if constexpr (sizeof...(more) > 0) all_required(more...);
  }
  void all_not_negative(const char* key, auto& member, auto&... more) {
    self().not_negative(key, member);
    if constexpr (sizeof...(more) > 0) all_not_negative(more...);
  }
  /// Members of a struct that is no part of a file, and has no keys.
  void members(auto&... members) { (self().value("", members), ...); }
  void required(const char* key, auto& member) { self().value(key, member); }
  void text(const char* key, auto& member) { self().value(key, member); }
  void not_negative(const char* key, auto& member) { self().value(key, member); }
  void column_if_known(const char* key, auto& member) { self().value(key, member); }
  void share(const char* key, auto& member) { self().value(key, member); }
  void interval(const char* key, auto& member) { self().value(key, member); }
  void square(const char* key, auto& rows) { self().value(key, rows); }
  void config(const char* key, auto& options) { self().value(key, options); }
  void left_out_if(bool /*is_so*/, const char* key, auto& member) { self().value(key, member); }
  void left_out_if_empty(const char* key, auto& member) { self().value(key, member); }
  void null_if(bool /*is_so*/, const char* key, auto& member) { self().value(key, member); }
  void named(const char* key, auto& members, auto /*name*/) { self().value(key, members); }
  void why_absent(const char* key, bool /*present*/, auto& reason) { self().value(key, reason); }
  void reason_of(const char* path, auto& reason) { self().value(path, reason); }
  void group(const char* /*key*/, auto members) { members(self()); }
  void by_name(const char* key, auto& members) { self().value(key, members); }
  void outside_tables(auto members) { members(self()); }
  void check(const char* /*key*/, bool /*holds*/, const char* /*expected*/) {}
  void schema(const char* /*key*/, const char* /*schema*/) {}
  void fixed(const char* /*key*/, const std::string& /*text*/) {}

 private:
  Visitor& self() { return static_cast<Visitor&>(*this); }
};

}  // namespace evener
