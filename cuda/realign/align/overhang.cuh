// Treatments of query bases outside the reference, as `Overhang` of hapgpu/realign/scoring.py.

enum Overhang : int { kSoftclip = 0, kIndel = 1, kLeadingIndel = 2, kIgnore = 3 };
