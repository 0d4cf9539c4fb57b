package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// Open returns the source that a spec describes. It touches neither files nor network; the error wraps [ErrSpec] and
// lists everything that [Spec.Check] finds.
func Open(spec Spec, env Env) (Source, error) {
	if found := spec.Check(); len(found) > 0 {
		return nil, specError(found)
	}
	switch spec.Kind {
	case KindCSV:
		return &fileSource{spec: spec, root: env.Root, pattern: spec.CSV.Path, read: readCSV}, nil
	case KindParquet:
		return &fileSource{spec: spec, root: env.Root, pattern: spec.Parquet.Path, read: readParquet}, nil
	case KindXLSX:
		return &fileSource{spec: spec, root: env.Root, pattern: spec.XLSX.Path, read: readXLSX}, nil
	case KindBill:
		return &fileSource{spec: spec, root: env.Root, pattern: spec.Bill.Path, read: readBill}, nil
	case KindQuery:
		if env.Conn == nil {
			return nil, fmt.Errorf("query: there is no ClickHouse to ask: %w", ErrSpec)
		}
		return &querySource{spec: spec, conn: env.Conn}, nil
	}
	return nil, fmt.Errorf("kind %q: %w", spec.Kind, ErrSpec)
}

// readFile reads one input file row by row into the sink.
type readFile func(ctx context.Context, in *input, spec Spec, to *sink) error

// fileSource reads the files that a path pattern matches.
type fileSource struct {
	spec    Spec
	root    string
	pattern string
	read    readFile
}

func (s *fileSource) Peek(_ context.Context, req Request) (string, error) {
	files, err := listFiles(s.pattern, s.root, req.Day)
	if err != nil {
		return "", err
	}
	return fingerprint(files), nil
}

func (s *fileSource) Read(ctx context.Context, req Request, yield func(model.Entry) error) (model.Seal, error) {
	to, err := newSink(s.spec, req, yield)
	if err != nil {
		return model.Seal{}, err
	}
	files, err := listFiles(s.pattern, s.root, req.Day)
	if err != nil {
		return model.Seal{}, err
	}
	for _, f := range files {
		seal, err := s.readOne(ctx, f, to)
		if err != nil {
			return model.Seal{}, err
		}
		if twin := sameBytes(to.seal.Sources, seal); twin != "" {
			return model.Seal{}, unusable("%s holds the same bytes as %s: a copy would count every row twice; leave one of them where the path finds it", seal.Name, twin)
		}
		to.seal.Sources = append(to.seal.Sources, seal)
	}
	again, err := listFiles(s.pattern, s.root, req.Day)
	if err != nil && !errors.Is(err, ErrNotThere) {
		return model.Seal{}, err
	}
	if err := to.settleNoBill(len(files)); err != nil {
		return model.Seal{}, err
	}
	if fingerprint(again) != fingerprint(files) {
		return model.Seal{}, fmt.Errorf("%s: files came, went or changed: %w", s.pattern, ErrChanged)
	}
	return to.sealed(), nil
}

// sameBytes is the name of a file read before that is a copy of this one and has rows, "" when none is.
func sameBytes(before []model.FileSeal, f model.FileSeal) string {
	at := slices.IndexFunc(before, func(b model.FileSeal) bool { return b.SHA256 == f.SHA256 && b.Rows > 0 })
	if at < 0 {
		return ""
	}
	return before[at].Name
}

// readOne reads and seals one file. What looks wrong in a file that is still being written is no fault of its content,
// so a change is reported before anything else.
func (s *fileSource) readOne(ctx context.Context, f found, to *sink) (model.FileSeal, error) {
	in, err := openInput(f, s.root)
	if err != nil {
		return model.FileSeal{}, err
	}
	defer in.close()
	to.begin(in.base())
	if err := s.read(ctx, in, s.spec, to); err != nil {
		if to.failed == nil && ctx.Err() == nil {
			if changed := in.unchanged(); changed != nil {
				return model.FileSeal{}, changed
			}
		}
		return model.FileSeal{}, err
	}
	seal, err := in.seal(to.rows)
	seal.Left = to.left
	return seal, err
}

// sink takes the rows of one Read: it makes entries, yields them and totals them for the seal.
type sink struct {
	req      Request
	plan     *plan // nil before a bill has chosen its format
	instants text.Instants
	yield    func(model.Entry) error
	seal     model.Seal
	contents model.ContentsDigest
	file     string
	rows     uint64            // of the current file
	left     map[string]uint64 // of the current file: rows that are not asked for, by type
	wrong    *problems
	noBill   []string // answers of providers in place of files
	yielding bool     // the caller's code runs
	failed   error    // of yield
}

func newSink(spec Spec, req Request, yield func(model.Entry) error) (*sink, error) {
	var p *plan
	if spec.Kind != KindBill {
		var err error
		if p, err = newPlan(spec.Columns, req); err != nil {
			return nil, err
		}
	}
	zone := cmp.Or(spec.Zone, req.Zone, time.UTC)
	return &sink{
		req: req, plan: p, instants: text.Instants{Format: spec.TimeFormat, Zone: zone}, yield: yield,
		seal: model.Seal{Totals: model.Totals{}}, wrong: &problems{},
	}, nil
}

func (s *sink) begin(file string) {
	s.file, s.rows, s.left, s.wrong = file, 0, nil, &problems{}
}

// take makes an entry of a row. Once something of the input was wrong its rows are still looked at, for the report, but
// no longer yielded. An error ends the reading.
func (s *sink) take(ctx context.Context, r row, line uint64) error {
	s.rows++
	if s.rows%1024 == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e, ok := (&reading{s.plan, r, s.wrong}).entry(s.file, line)
	if !ok || s.wrong.count() > 0 {
		return nil
	}
	s.yielding = true
	s.failed = s.yield(e)
	s.yielding = false
	if s.failed != nil {
		return s.failed
	}
	s.seal.Totals.Add(e.Currency, 1, e.Amount)
	s.contents.Add(e)
	return nil
}

// settleNoBill seals an answer that there is no bill. Beside files with rows it contradicts them.
func (s *sink) settleNoBill(files int) error {
	if len(s.noBill) == 0 {
		return nil
	}
	if len(s.noBill) < files {
		return unusable("%d of %d files say %q, that there is no bill, and the others are bills: deliver one or the other", len(s.noBill), files, s.noBill[0])
	}
	s.seal.NoBill = s.noBill[0]
	return nil
}

// sealed is the seal of all that was read.
func (s *sink) sealed() model.Seal {
	s.seal.Digest = s.contents.Under(s.req.Rules)
	return s.seal
}

// leave counts a row that is not asked for.
func (s *sink) leave(ctx context.Context, kind string) error {
	if s.left == nil {
		s.left = map[string]uint64{}
	}
	s.left[kind]++
	if s.left[kind]%1024 == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
