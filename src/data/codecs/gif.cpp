// GIF: the first frame on its canvas, as browsers show it before anything moves. What the frame leaves open is of the
// transparent colour, or the first. Source: CompuServe's GIF89a specification.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/codecs/codecs.h"

namespace evener::data {

namespace {

using GifColour = std::array<std::uint8_t, 3>;

struct GifFrame {
  std::int64_t canvas_width = 0, canvas_height = 0;
  PictureArea area;
  bool is_interlaced = false;
  std::array<GifColour, 256> palette{};  // what the file lacks is black
  bool is_grey = true;                   // all its colours are
  std::uint8_t background = 0;           // index of what the frame leaves open
  std::size_t data_begin = 0;            // of the least code size, before the blocks
};

class GifReader {
 public:
  explicit GifReader(std::string_view file) : file_(file) {}

  std::size_t at() const { return at_; }

  std::uint8_t byte() { return static_cast<std::uint8_t>(bytes(1)[0]); }
  std::int64_t number() {
    const std::int64_t low = byte();
    return low | std::int64_t{byte()} << 8;
  }
  std::string_view bytes(std::size_t count) {
    if (count > file_.size() - at_) throw Error("the GIF file is cut short");
    const std::string_view part = file_.substr(at_, count);
    at_ += count;
    return part;
  }
  /// The content of the next block; blocks end with an empty one.
  std::string_view block() { return bytes(byte()); }

 private:
  std::string_view file_;
  std::size_t at_ = 0;
};

/// Whose flags say that there is a palette, and of how many colours.
void read_gif_palette(GifReader& reader, std::uint8_t flags, GifFrame& frame) {
  constexpr std::uint8_t kHasPalette = 0x80;
  if ((flags & kHasPalette) == 0) return;
  const std::size_t count = std::size_t{2} << (flags & 7);
  frame.palette = {};
  frame.is_grey = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view stored = reader.bytes(3);
    std::memcpy(frame.palette[i].data(), stored.data(), 3);
    const GifColour& colour = frame.palette[i];
    frame.is_grey = frame.is_grey && colour[0] == colour[1] && colour[1] == colour[2];
  }
}

/// Extensions before a frame: all are passed over, but for the transparent colour.
void read_gif_extension(GifReader& reader, GifFrame& frame) {
  constexpr std::uint8_t kGraphicControl = 0xF9;
  const bool is_control = reader.byte() == kGraphicControl;
  for (std::string_view block = reader.block(); !block.empty(); block = reader.block()) {
    if (is_control && block.size() >= 4 && (block[0] & 1) != 0) frame.background = static_cast<std::uint8_t>(block[3]);
  }
}

GifFrame read_first_frame(std::string_view file) {
  constexpr std::uint8_t kExtension = '!', kImage = ',', kInterlaced = 0x40;
  GifReader reader(file);
  reader.bytes(6);
  GifFrame frame;
  for (std::size_t i = 0; i < 256; ++i) frame.palette[i].fill(static_cast<std::uint8_t>(i));  // where there is none
  frame.canvas_width = reader.number();
  frame.canvas_height = reader.number();
  const std::uint8_t flags = reader.byte();
  reader.bytes(2);
  read_gif_palette(reader, flags, frame);
  for (std::uint8_t kind = reader.byte(); kind != kImage; kind = reader.byte()) {
    if (kind != kExtension) throw Error("damaged GIF file: it has no frame");
    read_gif_extension(reader, frame);
  }
  frame.area.x = reader.number();
  frame.area.y = reader.number();
  frame.area.width = reader.number();
  frame.area.height = reader.number();
  const std::uint8_t frame_flags = reader.byte();
  frame.is_interlaced = (frame_flags & kInterlaced) != 0;
  read_gif_palette(reader, frame_flags, frame);
  frame.data_begin = reader.at();
  // Frames beyond the canvas make it larger, as in Pillow.
  frame.canvas_width = std::max(frame.canvas_width, frame.area.x + frame.area.width);
  frame.canvas_height = std::max(frame.canvas_height, frame.area.y + frame.area.height);
  check_picture_size(frame.canvas_width, frame.canvas_height);
  check_picture_size(frame.area.width, frame.area.height);
  // A code of two bits or more stands for no more values than there are codes.
  constexpr std::size_t kMostOfByte = std::size_t{4} << 12;
  if (static_cast<std::size_t>(frame.area.width * frame.area.height) / kMostOfByte > file.size()) {
    throw Error("the GIF file is cut short: " + std::to_string(file.size()) + " bytes can't hold " +
                std::to_string(frame.area.width) + "x" + std::to_string(frame.area.height) + " pixels");
  }
  return frame;
}

/// Codes of growing length out of blocks, the lowest bit first.
class GifCodes {
 public:
  explicit GifCodes(GifReader& reader) : reader_(reader) {}

  std::uint32_t next(int bits) {
    while (held_ < bits) {
      if (block_.empty()) block_ = reader_.block();
      if (block_.empty()) throw Error("the GIF file is cut short: its picture ends too early");
      value_ |= std::uint32_t{static_cast<unsigned char>(block_[0])} << held_;
      block_.remove_prefix(1);
      held_ += 8;
    }
    const std::uint32_t code = value_ & ((1u << bits) - 1);
    value_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  GifReader& reader_;
  std::string_view block_;
  std::uint32_t value_ = 0;
  int held_ = 0;
};

/// LZW: a code stands for a value, or for the row of values of an earlier code and one more.
std::vector<std::uint8_t> read_indices(std::string_view file, const GifFrame& frame) {
  constexpr int kMostBits = 12;
  constexpr std::uint32_t kCodes = 1u << kMostBits;
  GifReader reader(file);
  reader.bytes(frame.data_begin);
  const int least_bits = reader.byte();
  if (least_bits < 1 || least_bits > 8) {
    throw Error("damaged GIF file: its codes have " + std::to_string(least_bits) + " bits");
  }
  const std::uint32_t clear = 1u << least_bits, end = clear + 1;
  std::vector<std::uint16_t> earlier(kCodes);
  std::vector<std::uint8_t> last(kCodes), reversed(kCodes + 1);
  for (std::uint32_t i = 0; i < clear; ++i) last[i] = static_cast<std::uint8_t>(i);
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(frame.area.width * frame.area.height));
  GifCodes codes(reader);
  std::uint32_t known = end + 1, before = kCodes;  // `before`: the code read last; kCodes = none
  int bits = least_bits + 1;
  for (std::size_t done = 0; done < indices.size();) {
    const std::uint32_t code = codes.next(bits);
    if (code == clear) {
      known = end + 1;
      bits = least_bits + 1;
      before = kCodes;
      continue;
    }
    if (code == end) throw Error("the GIF file is cut short: its picture ends too early");
    if (code > known || (code == known && before == kCodes)) throw Error("damaged GIF file: an impossible code");
    // A code that is not known yet stands for the row before, and its first value once more.
    std::size_t length = code == known ? 1 : 0;
    std::uint32_t walked = code == known ? before : code;
    for (; walked > end; walked = earlier[walked]) reversed[length++] = last[walked];
    if (walked >= clear) throw Error("damaged GIF file: an impossible code");
    reversed[length++] = last[walked];
    const std::uint8_t first = last[walked];
    if (code == known) reversed[0] = first;
    for (std::size_t i = length; i > 0 && done < indices.size(); --i) indices[done++] = reversed[i - 1];
    if (before != kCodes && known < kCodes) {
      earlier[known] = static_cast<std::uint16_t>(before);
      last[known] = first;
      ++known;
      if (known == 1u << bits && bits < kMostBits) ++bits;
    }
    before = code;
  }
  return indices;
}

/// The row of the picture that is stored as the i-th: every 8th, then those between, and so on.
std::vector<std::int64_t> row_order(std::int64_t height, bool is_interlaced) {
  std::vector<std::int64_t> rows;
  if (!is_interlaced) {
    for (std::int64_t y = 0; y < height; ++y) rows.push_back(y);
    return rows;
  }
  for (const auto& [first, step] : {std::pair{0, 8}, {4, 8}, {2, 4}, {1, 2}}) {
    for (std::int64_t y = first; y < height; y += step) rows.push_back(y);
  }
  return rows;
}

void write_colours(const GifFrame& frame, const std::uint8_t* indices, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const GifColour& colour = frame.palette[indices[i]];
    *out++ = colour[0];
    if (frame.is_grey) continue;
    *out++ = colour[1];
    *out++ = colour[2];
  }
}

}  // namespace

StoredHeader read_gif_header(std::string_view file) {
  const GifFrame frame = read_first_frame(file);
  return {frame.is_grey ? 1 : 3, frame.canvas_height, frame.canvas_width};
}

StoredPicture decode_gif(std::string_view file) {
  const GifFrame frame = read_first_frame(file);
  const auto turn = wait_for_turn(frame.canvas_width, frame.canvas_height);
  const std::vector<std::uint8_t> indices = read_indices(file, frame);
  Picture picture = Picture::unset(frame.is_grey ? 1 : 3, frame.canvas_height, frame.canvas_width);
  if (frame.area.width < frame.canvas_width || frame.area.height < frame.canvas_height) {
    const std::vector<std::uint8_t> open(static_cast<std::size_t>(frame.canvas_width), frame.background);
    for (std::int64_t y = 0; y < picture.height; ++y) {
      write_colours(frame, open.data(), picture.width, picture.row(y));
    }
  }
  const std::uint8_t* stored = indices.data();
  for (const std::int64_t y : row_order(frame.area.height, frame.is_interlaced)) {
    write_colours(frame, stored, frame.area.width, picture.row(frame.area.y + y) + frame.area.x * picture.channels);
    stored += frame.area.width;
  }
  return {std::move(picture), 1};
}

bool is_animated_gif(std::string_view file) {
  GifFrame frame = read_first_frame(file);
  GifReader reader(file);
  reader.bytes(frame.data_begin + 1);
  while (!reader.block().empty()) continue;
  std::uint8_t kind = reader.byte();
  for (; kind == '!'; kind = reader.byte()) read_gif_extension(reader, frame);
  return kind == ',';
}

}  // namespace evener::data
