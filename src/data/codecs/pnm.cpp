// PBM, PGM and PPM, as text (P1 to P3) or as bytes (P4 to P6). Source: https://netpbm.sourceforge.net/doc/pnm.html.
#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/codecs/codecs.h"

namespace evener::data {

namespace {

struct PnmHeader {
  char kind = 0;  // '1' to '6'
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::uint32_t largest = 1;  // the value of white
  std::size_t pixels_begin = 0;

  bool is_text() const { return kind <= '3'; }
  bool is_bitmap() const { return kind == '1' || kind == '4'; }
  std::int64_t channels() const { return kind == '3' || kind == '6' ? 3 : 1; }
  /// Others of more than 8 bits are scaled.
  bool has_16_bits() const { return largest == 65535; }
};

[[noreturn]] void fail_cut_short() {
  throw Error("the PNM file is cut short");
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Numbers in text, with white space and comments ('#' to the end of the line) between them.
class TextReader {
 public:
  TextReader(std::string_view file, std::size_t begin) : file_(file), at_(begin) {}

  std::size_t position() const { return at_; }

  std::uint32_t number(const char* what) {
    skip_space();
    if (at_ == file_.size()) fail_cut_short();
    constexpr std::uint32_t kTooLarge = 1'000'000'000;
    std::uint32_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < file_.size() && file_[at_] >= '0' && file_[at_] <= '9'; ++at_) {
      if (value >= kTooLarge) throw Error(std::string("damaged PNM file: its ") + what + " is too large");
      value = value * 10 + static_cast<std::uint32_t>(file_[at_] - '0');
    }
    if (at_ == begin) throw Error(std::string("damaged PNM file: its ") + what + " is not a number");
    return value;
  }

  /// A digit of P1, which needs no space around it.
  std::uint32_t bit() {
    skip_space();
    if (at_ == file_.size()) fail_cut_short();
    const char c = file_[at_++];
    if (c != '0' && c != '1') throw Error("damaged PNM file: a bitmap with something else than 0 and 1");
    return static_cast<std::uint32_t>(c - '0');
  }

 private:
  void skip_space() {
    for (; at_ < file_.size(); ++at_) {
      if (file_[at_] == '#') {
        at_ = std::min(file_.find('\n', at_), file_.size());
        if (at_ == file_.size()) return;
      } else if (!is_space(file_[at_])) {
        return;
      }
    }
  }

  std::string_view file_;
  std::size_t at_;
};

PnmHeader parse_pnm_header(std::string_view file) {
  PnmHeader header;
  header.kind = file[1];
  TextReader reader(file, 2);
  header.width = reader.number("width");
  header.height = reader.number("height");
  if (!header.is_bitmap()) header.largest = reader.number("largest value");
  if (header.largest < 1 || header.largest > 65535) {
    throw Error("damaged PNM file: its largest value is " + std::to_string(header.largest) +
                "; 1 to 65535 are possible");
  }
  check_picture_size(header.width, header.height);
  header.pixels_begin = reader.position();
  if (header.is_text()) return header;
  if (header.pixels_begin == file.size()) fail_cut_short();
  if (!is_space(file[header.pixels_begin])) throw Error("damaged PNM file: no white space after its header");
  ++header.pixels_begin;  // exactly one
  return header;
}

/// Bytes of a row as stored; of text the fewest there can be.
std::int64_t row_bytes(const PnmHeader& header) {
  if (header.kind == '4') return (header.width + 7) / 8;
  const std::int64_t values = header.width * header.channels();
  return values * (!header.is_text() && header.largest > 255 ? 2 : 1);
}

void check_length(const PnmHeader& header, std::string_view file) {
  const auto needed = static_cast<std::uint64_t>(row_bytes(header) * header.height);
  if (file.size() - header.pixels_begin < needed) fail_cut_short();
}

/// `found`: the largest value until now.
std::uint8_t to_8_bit(std::uint32_t value, std::uint32_t largest, std::uint32_t& found) {
  found = std::max(found, value);
  if (value > largest) {
    throw Error("damaged PNM file: it has the value " + std::to_string(value) + ", but says that " +
                std::to_string(largest) + " is the largest");
  }
  if (largest == 255) return static_cast<std::uint8_t>(value);
  if (largest == 65535) return static_cast<std::uint8_t>(value >> 8);
  return static_cast<std::uint8_t>((value * 255 + largest / 2) / largest);
}

void read_text(const PnmHeader& header, std::string_view file, Picture& picture, std::uint32_t& found) {
  TextReader reader(file, header.pixels_begin);
  for (std::size_t i = 0; i < picture.bytes(); ++i) {
    picture.pixels[i] =
        header.is_bitmap() ? (reader.bit() == 0 ? 255 : 0) : to_8_bit(reader.number("pixel"), header.largest, found);
  }
}

void read_row(const PnmHeader& header, const unsigned char* in, std::int64_t values, std::uint8_t* out,
              std::uint32_t& found) {
  for (std::int64_t i = 0; i < values; ++i) {
    if (header.is_bitmap()) {
      out[i] = (in[i / 8] >> (7 - i % 8) & 1) == 0 ? 255 : 0;  // 1 is black
    } else if (header.largest > 255) {
      out[i] = to_8_bit(std::uint32_t{in[2 * i]} << 8 | in[2 * i + 1], header.largest, found);
    } else {
      out[i] = to_8_bit(in[i], header.largest, found);
    }
  }
}

}  // namespace

StoredHeader read_pnm_header(std::string_view file) {
  const PnmHeader header = parse_pnm_header(file);
  check_length(header, file);
  return {header.channels(), header.height, header.width, 1, header.has_16_bits()};
}

StoredPicture decode_pnm(std::string_view file) {
  const PnmHeader header = parse_pnm_header(file);
  check_length(header, file);
  const auto turn = wait_for_turn(header.width, header.height);
  Picture picture = Picture::unset(header.channels(), header.height, header.width);
  std::uint32_t found = 0;
  const auto done = [&] {
    if (header.has_16_bits()) picture.largest_of_16_bits = static_cast<std::uint16_t>(found);
    return StoredPicture{std::move(picture), 1};
  };
  if (header.is_text()) {
    read_text(header, file, picture, found);
    return done();
  }
  const auto* row = reinterpret_cast<const unsigned char*>(file.data()) + header.pixels_begin;
  for (std::int64_t y = 0; y < header.height; ++y, row += row_bytes(header)) {
    read_row(header, row, header.width * header.channels(), picture.row(y), found);
  }
  return done();
}

}  // namespace evener::data
