// The face of a portrait, from the hairline to the chin.
#pragma once

#include <array>
#include <vector>

#include "data/sources/portrait_sitter.h"
#include "data/sources/soft_shapes.h"

namespace evener::data {

class PortraitFace {
 public:
  /// `soft` is the width of edges: about a pixel.
  PortraitFace(const Sitter& who, const Sitting& when, double soft);

  /// The lit colour at a place, as seen from the face's front. `slope` is that of the head without the face.
  Rgb colour_at(double x, double y, const std::array<double, 2>& slope) const;

 private:
  void add_relief();
  void add_shadows();
  void paint_brow(double x, double y, Rgb& colour) const;
  void paint_beard(double x, double y, Rgb& colour) const;
  void paint_lips(double x, double y, Rgb& colour) const;
  void paint_eye(double x, double y, double side, Rgb& colour) const;
  Rgb eyeball_at(double x, double y, double below_lid, double side) const;
  void paint_glasses(double x, double y, Rgb& colour) const;

  const Sitter& who_;
  const Sitting& when_;
  double soft_;
  double smile_, lean_;  // how far the tip of the nose is moved by the head's turn
  std::vector<Bump> relief_, shadows_, blushes_;
};

}  // namespace evener::data
