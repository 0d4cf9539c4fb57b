package recon

import (
	"context"
	"encoding/json"
	"fmt"

	"daybreak/pkg/bus"
	"daybreak/pkg/model"
)

// handedOn passes the day's outcome on to the days after it and acknowledges the message. It runs after DONE, so a crash
// in between brings the message back and hands on again; ids make that harmless.
func (a *attempt) handedOn(ctx context.Context, why string) bus.Verdict {
	if err := a.handOn(ctx); err != nil {
		a.log.Warn("the day is done but could not be handed on, will be tried again", "err", err)
		return bus.Retry(trouble).Because("could_not_hand_on")
	}
	return bus.Ack().Because(why)
}

func (a *attempt) handOn(ctx context.Context) error {
	days, marks, err := a.r.window(ctx, a.job.Job)
	if err != nil {
		return err
	}
	marks[a.day] = a.mark // a list may lag behind what this very run has written
	if a.job.Order == model.Strict {
		if next := chained(days, marks); next != nil {
			if err := a.nudge(ctx, *next, model.CauseChain, a.batch.RunID); err != nil {
				return err
			}
		}
	}
	next := a.job.Calendar.Next(a.day)
	w, begun := marks[next]
	if a.job.CarryDays == 0 || !begun || w.Status == model.Done && w.CarryIn == a.batch.CarryOut {
		return nil
	}
	if w.Status != model.Done && w.Status != model.Running {
		return nil // it will be computed with the new pool anyway
	}
	return a.nudge(ctx, next, model.CauseCarry, a.batch.RunID+"/"+a.batch.CarryOut)
}

// chained returns the first day of a strict job that is not DONE, when it is not already being worked on or waited for.
func chained(days []model.Day, marks map[model.Day]model.Watermark) *model.Day {
	if len(days) == 0 {
		return nil
	}
	next := model.FirstUnfinished(days, marks, days[len(days)-1]+1)
	if next == nil {
		return nil
	}
	if s := marks[*next].Status; s == model.Running || s == model.Waiting {
		return nil
	}
	return next
}

// nudge asks for another day. The id names the run that was the cause, so that a later run with the same outcome is
// heard again inside the duplicate window.
func (a *attempt) nudge(ctx context.Context, day model.Day, cause model.Cause, seen string) error {
	subject, err := bus.DayNudge(a.job.Name, day.String())
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]string{"cause": string(cause), "seen": seen})
	if err != nil {
		return err
	}
	id := fmt.Sprintf("nudge/%s/%s/%s/%s", a.job.Name, day, cause, seen)
	_, err = a.r.Bus.Publish(ctx, bus.Message{Subject: subject, ID: id, Body: data})
	return err
}
